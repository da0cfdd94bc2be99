import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'

/** The fault `early-answer`: a connection on which the client may send only the headers of a call until the server has answered. */

const WINDOW_BYTES = 65_535

/** Holds the requests of a connection back. */
export const holdBack = (session: ServerHttp2Session): void => session.settings({ initialWindowSize: 0 })

/** Lets the request of one call through on a connection that holds requests back. */
export const letThrough = (stream: ServerHttp2Stream): void => {
  const { session } = stream
  session?.settings({ initialWindowSize: WINDOW_BYTES })
  stream.once('end', () => void (session?.destroyed === false && session.settings({ initialWindowSize: 0 })))
}
