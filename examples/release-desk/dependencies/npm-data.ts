/**
 * What is known about npm packages by name: lists that only grow by experience, kept apart from the rules.
 *
 * @since 0.1.0
 */
import { baseOf } from "./model.ts"

const list = (...words: ReadonlyArray<string>): ReadonlySet<string> => new Set(words.join(" ").split(" "))

/**
 * Fields of a `package.json` in which a package's name is no use of it.
 *
 * @category data
 * @since 0.1.0
 */
export const manifestFields = list(
  "name version description keywords author contributors maintainers homepage bugs repository funding license licenses",
  "dependencies devDependencies peerDependencies peerDependenciesMeta optionalDependencies bundleDependencies",
  "bundledDependencies overrides resolutions dependenciesMeta engines packageManager os cpu private workspaces files pnpm"
)

/**
 * Packages that work without being named anywhere.
 *
 * @category data
 * @since 0.1.0
 */
export const implicit = list(
  "tslib @babel/runtime @babel/runtime-corejs3 @swc/helpers core-js regenerator-runtime source-map-support",
  "@types/node husky lefthook simple-git-hooks node bun react-native-web @tsconfig/node20 @tsconfig/node22 sharp",
  "esbuild-register ts-node tsx @swc/core fsevents autoprefixer postcss sass sass-embedded less stylus"
)

/**
 * Modules that a host provides at run time.
 *
 * @category data
 * @since 0.1.0
 */
export const provided = list(
  "vscode k6 bun atom electron obsidian figma photoshop uxp deno sketch webextension lightroom"
)

/**
 * Packages of types that declare globals, by the name behind `@types/`.
 *
 * @category data
 * @since 0.1.0
 */
export const ambientTypes = list(
  "node jest mocha jasmine chai qunit chrome firefox-webext-browser web webpack-env google.maps gapi jquery cypress",
  "react react-dom wicg-file-system-access w3c-web-usb w3c-web-serial offscreencanvas bun deno k6 vscode estree json-schema",
  "dom-mediacapture-transform webxr serviceworker audioworklet trusted-types grecaptcha facebook-js-sdk youtube"
)

/**
 * Tools that put development dependencies into what is published.
 *
 * @category data
 * @since 0.1.0
 */
export const bundlers = list(
  "vite rollup rolldown esbuild webpack parcel tsup tsdown unbuild microbundle @vercel/ncc bunchee pkgroll obuild rspack",
  "@rspack/core @rslib/core @microsoft/api-extractor rollup-plugin-dts dts-bundle-generator ng-packagr browserify @sveltejs/package"
)

/**
 * Folders of tests, tools and examples, whose code is not published.
 *
 * @category data
 * @since 0.1.0
 */
export const toolFolders = list(
  "test tests __tests__ spec specs e2e bench benches benchmark benchmarks perf script scripts tool tools build ci doc docs",
  "example examples demo demos playground playgrounds sandbox website site www stories storybook cypress playwright samples"
)

/**
 * Folders with data of tests, whose imports may be wrong on purpose.
 *
 * @category data
 * @since 0.1.0
 */
export const dataFolders = list(
  "fixture fixtures __fixtures__ testdata test-data test_data __mocks__ mocks snapshots __snapshots__ template templates",
  "boilerplate vendor third_party test-fixtures __testfixtures__ cases"
)

/**
 * The commands of packages whose commands have other names; asked when the package is not installed.
 *
 * @category data
 * @since 0.1.0
 */
export const commands: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["typescript", ["tsc", "tsserver"]],
  ["@biomejs/biome", ["biome"]],
  ["@angular/cli", ["ng"]],
  ["@arethetypeswrong/cli", ["attw"]],
  ["@changesets/cli", ["changeset"]],
  ["@playwright/test", ["playwright"]],
  ["@commitlint/cli", ["commitlint"]],
  ["@microsoft/api-extractor", ["api-extractor"]],
  ["@sveltejs/kit", ["svelte-kit"]],
  ["@vue/cli-service", ["vue-cli-service"]],
  ["@nestjs/cli", ["nest"]],
  ["@storybook/cli", ["storybook", "sb"]],
  ["@tauri-apps/cli", ["tauri"]],
  ["@effect/tsgo", ["effect-tsgo"]],
  ["@stryker-mutator/core", ["stryker"]],
  ["@release-it/conventional-changelog", ["release-it"]],
  ["npm-run-all", ["run-s", "run-p"]],
  ["npm-run-all2", ["run-s", "run-p"]],
  ["babel-cli", ["babel"]],
  ["@babel/cli", ["babel"]],
  ["@babel/node", ["babel-node"]],
  ["webpack-cli", ["webpack"]],
  ["webpack-dev-server", ["webpack"]],
  ["gulp-cli", ["gulp"]],
  ["grunt-cli", ["grunt"]],
  ["license-checker-rseidelsohn", ["license-checker-rseidelsohn"]],
  ["standard-version", ["standard-version"]],
  ["istanbul", ["istanbul"]],
  ["nyc", ["nyc"]],
  ["c8", ["c8"]]
])

/**
 * Under which shorter names a plugin is put into a configuration.
 *
 * @category rules
 * @since 0.1.0
 */
export const shortNames = (name: string): ReadonlyArray<string> => {
  const scope = name.startsWith("@") ? name.slice(0, name.indexOf("/")) : ""
  const base = baseOf(name)
  const match =
    /^(?:eslint-plugin|eslint-config|eslint-formatter|babel-plugin|babel-preset|plugin|preset|stylelint-config|stylelint-plugin|prettier-plugin|commitlint-config|config|karma|jest-environment|grunt|gulp|postcss|remark|rehype|textlint-rule|mocha|hubot|release-it|vitest-environment|reporter|coverage)-(.+)$/.exec(
      base
    )
  const short = match?.[1]
  const whole =
    /^(?:eslint-plugin|eslint-config|prettier-config|babel-preset)$/.test(base) && scope !== "" ? [scope] : []
  return short === undefined ? whole : scope === "" ? [short] : [short, `${scope}/${short}`]
}

const families: ReadonlyArray<readonly [plugin: RegExp, host: RegExp]> = [
  [/^@?eslint-|\/eslint-/, /^eslint$/],
  [/^@vitest\//, /^vitest$/],
  [/^@storybook\/|^storybook/, /^storybook$|^@storybook\//],
  [/^prettier-|\/prettier-plugin/, /^prettier$/],
  [/^stylelint-/, /^stylelint$/],
  [/^babel-|^@babel\//, /^@babel\/core$|^babel-core$/],
  [/^jest-|^@jest\/|^ts-jest$|^babel-jest$/, /^jest$/],
  [/^karma-/, /^karma$/],
  [/^grunt-/, /^grunt$/],
  [/^semantic-release-|^@semantic-release\//, /^semantic-release$/],
  [/^@commitlint\//, /^@commitlint\/cli$/],
  [/^@typescript-eslint\//, /^eslint$/],
  [/^oxlint-/, /^oxlint$/],
  [/-loader$/, /^webpack$/],
  [/^typedoc-/, /^typedoc$/],
  [/^@size-limit\//, /^size-limit$/],
  [/^@secretlint\//, /^secretlint$/],
  [/^@stryker-mutator\//, /^@stryker-mutator\/core$/],
  [/^markdownlint-/, /^markdownlint/],
  [/^textlint-/, /^textlint$/],
  [/^tap-|^@tapjs\//, /^tap$/]
]

/**
 * Tells whether a package extends a tool that is declared too: those find their plugins by name.
 *
 * @category rules
 * @since 0.1.0
 */
export const pluginsOf = (declared: ReadonlySet<string>): ((name: string) => boolean) => {
  const hosted = families.map(([plugin, host]) => ({
    plugin,
    host,
    hosts: [...declared].filter((name) => host.test(name)).length
  }))
  return (name) => hosted.some(({ host, hosts, plugin }) => plugin.test(name) && hosts > (host.test(name) ? 1 : 0))
}
