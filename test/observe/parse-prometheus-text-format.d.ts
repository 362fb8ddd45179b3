declare module "parse-prometheus-text-format" {
  export interface Family {
    readonly name: string
    readonly help: string
    readonly type: string
    readonly metrics: ReadonlyArray<{
      readonly value?: string
      readonly labels?: Readonly<Record<string, string>>
      readonly count?: string
      readonly sum?: string
      readonly buckets?: Readonly<Record<string, string>>
    }>
  }
  export default function parse(text: string): ReadonlyArray<Family>
}
