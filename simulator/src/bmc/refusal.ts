/** Errors of Redfish: a status, and a message of the registry `Base` (DSP0266, "Error responses"). */

/** Version of the registry `Base` whose message keys are used. */
const BASE = 'Base.1.19'

export type Json = Record<string, unknown>

interface Kind {
  readonly status: number
  readonly severity: 'OK' | 'Warning' | 'Critical'
  /** The sentence; `%1` is the first argument. */
  readonly text: string
  readonly remedy: string
}

const kind = (
  status: number,
  text: string,
  remedy: string,
  severity: Kind['severity'] = 'Warning',
): Kind => {
  return { status, severity, text, remedy }
}

/** Keys are those of the registry; the sentences are ours. */
const KINDS = {
  ResourceMissingAtURI: kind(
    404,
    'There is no resource at %1.',
    'Follow the links from /redfish/v1.',
    'Critical',
  ),
  NoValidSession: kind(
    401,
    'The request has no valid session or password.',
    'Sign in, then repeat the request.',
    'Critical',
  ),
  ResourceAtUriUnauthorized: kind(
    401,
    'The user name or the password for %1 is wrong: %2.',
    'Sign in with another user name or password.',
    'Critical',
  ),
  InsufficientPrivilege: kind(
    403,
    'This account may not do that.',
    'Use an account with more privileges.',
    'Critical',
  ),
  OperationNotAllowed: kind(
    405,
    'The resource does not have this method.',
    'The header Allow has the methods.',
    'Critical',
  ),
  ActionNotSupported: kind(
    400,
    'There is no action %1 here.',
    'Choose one of the actions of the resource.',
    'Critical',
  ),
  ActionParameterMissing: kind(
    400,
    'The action %1 needs the parameter %2.',
    'Add the parameter.',
    'Critical',
  ),
  ActionParameterUnknown: kind(
    400,
    'The action %1 does not have the parameter %2.',
    'Remove the parameter.',
  ),
  ActionParameterValueNotInList: kind(
    400,
    'The value %1 of the parameter %2 of the action %3 is not allowed.',
    'Choose one of the allowable values.',
  ),
  ActionParameterValueTypeError: kind(
    400,
    'The value %1 of the parameter %2 of the action %3 has the wrong type.',
    'Send a value of the right type.',
  ),
  PropertyValueNotInList: kind(
    400,
    'The value %1 of the property %2 is not allowed.',
    'Choose one of the allowable values.',
  ),
  PropertyValueTypeError: kind(
    400,
    'The value %1 of the property %2 has the wrong type.',
    'Send a value of the right type.',
  ),
  PropertyValueOutOfRange: kind(
    400,
    'The value %1 of the property %2 is out of range.',
    'Send a value within the limits.',
  ),
  PropertyNotWritable: kind(400, 'The property %1 can only be read.', 'Remove the property.'),
  PropertyUnknown: kind(400, 'There is no property %1 here.', 'Remove the property.'),
  PropertyMissing: kind(400, 'The property %1 is missing.', 'Add the property.'),
  PropertyValueConflict: kind(400, 'The value of %1 conflicts with %2.', 'Change one of them.'),
  MalformedJSON: kind(400, 'The body is no JSON object.', 'Send a JSON object.', 'Critical'),
  NoOperation: kind(
    400,
    'The request has nothing that could be changed.',
    'Send a property of the resource.',
  ),
  QueryNotSupported: kind(
    501,
    'This service does not have that query parameter.',
    'Remove the query parameter.',
  ),
  QueryNotSupportedOnResource: kind(
    400,
    'The query parameter does not apply here.',
    'Remove the query parameter.',
  ),
  QueryParameterValueFormatError: kind(
    400,
    'The value %1 of the query parameter %2 is wrong.',
    'Correct the value.',
  ),
  PreconditionFailed: kind(
    412,
    'The resource is not the one that the header If-Match names.',
    'Read the resource again.',
    'Critical',
  ),
  HeaderInvalid: kind(400, 'The header %1 is wrong.', 'Correct the header.', 'Critical'),
  ResourceAlreadyExists: kind(
    400,
    'A resource of the type %1 with the %2 %3 exists already.',
    'Choose another value.',
    'Critical',
  ),
  ResourceInUse: kind(409, 'The resource is in use.', 'Wait, then repeat the request.'),
  ResourceCannotBeDeleted: kind(
    405,
    'The resource can not be deleted.',
    'Leave it as it is.',
    'Critical',
  ),
  CreateLimitReachedForResource: kind(
    400,
    'There is no room for another one.',
    'Delete one of them.',
    'Critical',
  ),
  SessionLimitExceeded: kind(
    503,
    'All sessions are taken.',
    'End a session, or wait until one ends.',
    'Critical',
  ),
  ServiceTemporarilyUnavailable: kind(
    503,
    'The service is not available. Try again in %1 seconds.',
    'Wait, then repeat the request.',
    'Critical',
  ),
  GeneralError: kind(500, 'Something went wrong.', 'Look into the log of the manager.', 'Critical'),
} as const satisfies Record<string, Kind>
export type RefusalKey = keyof typeof KINDS

/** A refused request. `status` replaces the usual one of the message. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly key: RefusalKey
  readonly args: readonly string[]
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The property or parameter that is meant. */
  readonly related: string | undefined

  constructor(
    key: RefusalKey,
    args: readonly string[] = [],
    more: { status?: number; headers?: Record<string, string>; related?: string } = {},
  ) {
    super(`${key} ${args.join(' ')}`)
    this.key = key
    this.args = args
    this.status = more.status ?? KINDS[key].status
    this.headers = more.headers ?? {}
    this.related = more.related
  }
}

const filled = (text: string, args: readonly string[]): string =>
  text.replaceAll(/%(\d)/g, (_, at: string) => args[Number(at) - 1] ?? '')

/** The body of an error response. */
export const errorBody = ({ key, args, related }: Refusal): Json => {
  const { text, remedy, severity } = KINDS[key]
  const message = filled(text, args)
  return {
    error: {
      code: `${BASE}.${key}`,
      message,
      '@Message.ExtendedInfo': [
        {
          '@odata.type': '#Message.v1_3_0.Message',
          MessageId: `${BASE}.${key}`,
          Message: message,
          MessageArgs: args,
          MessageSeverity: severity,
          Resolution: remedy,
          ...(related !== undefined && { RelatedProperties: [`#/${related}`] }),
        },
      ],
    },
  }
}
