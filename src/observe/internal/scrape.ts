/**
 * What is answered to whoever asks for the metrics.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const plain = { "content-type": "text/plain; charset=utf-8" }

/** @since 0.1.0 */
export const notFound: Answer = { status: 404, headers: plain, body: "There is nothing here.\n" }

/**
 * The answer to a request for the metrics: what cannot be written is nobody's failure but the request's.
 *
 * @since 0.1.0
 */
export const answer = (method: string, render: () => string): Answer => {
  if (method !== "GET" && method !== "HEAD") {
    return { status: 405, headers: { ...plain, allow: "GET, HEAD" }, body: "Metrics can only be read.\n" }
  }
  try {
    const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" }
    return { status: 200, headers, body: render() }
  } catch {
    return { status: 500, headers: plain, body: "The metrics cannot be shown.\n" }
  }
}
