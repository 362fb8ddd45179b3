/**
 * Answers of the provider, of which no more is read than any answer can have.
 *
 * The SDK keeps a line of a stream, and the body of an error, until it is whole. What is longer is broken off before that.
 *
 * @since 0.1.0
 */

/** Bytes that the body of an answer may have: 128 MiB, with all that is written around its text. */
export const most = 128 * 2 ** 20

/** An answer was broken off because it was too long. @since 0.1.0 */
export class TooLong extends Error {
  constructor(bytes: number) {
    super(`the answer has more than ${bytes} bytes`)
  }
}

/** Whether an error is, or was caused by, an answer that was too long. @since 0.1.0 */
export const isTooLong = (error: unknown): boolean =>
  error instanceof TooLong || (error instanceof Error && error.cause instanceof TooLong)

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** `fetch`, whose answers have at most so many bytes. @since 0.1.0 */
export const bounded =
  (bytes: number, fetch: Fetch): Fetch =>
  (input, init) =>
    fetch(input, init).then((response) => {
      if (response.body === null) return response
      const { headers, status, statusText } = response
      return new Response(response.body.pipeThrough(limited(bytes)), { headers, status, statusText })
    })

const limited = (bytes: number): TransformStream<Uint8Array, Uint8Array> => {
  let read = 0
  return new TransformStream({
    transform: (piece, controller) => {
      read += piece.byteLength
      if (read > bytes) controller.error(new TooLong(bytes))
      else controller.enqueue(piece)
    }
  })
}
