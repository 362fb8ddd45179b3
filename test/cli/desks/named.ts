/** A desk that is not the default export. */
export { default as release } from "./works.ts"
