/** A failure of the API server, sent as Kubernetes' Status object. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: number
  readonly reason: string
  readonly details: object | undefined

  constructor(code: number, reason: string, message: string, details?: object) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
  }

  get status(): object {
    const { message, reason, details, code } = this
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details && { details }),
      code,
    }
  }
}

export const notFound = (plural: string, name: string): Refusal =>
  new Refusal(404, 'NotFound', `${plural} "${name}" not found`)
export const badRequest = (message: string): Refusal => new Refusal(400, 'BadRequest', message)
export const conflict = (message: string): Refusal => new Refusal(409, 'Conflict', message)
