import { request } from 'node:http'

/**
 * Calls the control socket of a running simulator. Rejects with a message if no simulator runs or
 * if the simulator refuses the call.
 */
export const ask = async (
  socketPath: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const call = request(
      { socketPath, method, path, headers: { 'content-type': 'application/json' } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const answer: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
          if (response.statusCode === 200) resolve(answer)
          else
            reject(
              new Error(
                typeof answer === 'object' && answer !== null && 'error' in answer
                  ? String(answer.error)
                  : `status ${response.statusCode}`,
              ),
            )
        })
      },
    )
    call.on('error', () => reject(new Error(`No simulator answers at ${socketPath}`)))
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })
