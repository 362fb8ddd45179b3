/** Prometheus text, read by a parser that is not ours. */
import parse from "parse-prometheus-text-format"

export { parse }

export const family = (text: string, name: string) => parse(text).find((each) => each.name === name)
