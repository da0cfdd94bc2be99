/** A failure of the API server, sent as Kubernetes' Status object. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }

  get status(): object {
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: this.message, reason: this.reason, code: this.code }
  }
}

export const notFound = (plural: string, name: string): Refusal => new Refusal(404, 'NotFound', `${plural} "${name}" not found`)
export const badRequest = (message: string): Refusal => new Refusal(400, 'BadRequest', message)
export const conflict = (message: string): Refusal => new Refusal(409, 'Conflict', message)
