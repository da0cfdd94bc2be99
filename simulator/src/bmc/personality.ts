/**
 * What differs between makers' BMCs, as behaviour: from public bug reports and documents of other
 * projects, never from the client's own table, so that each can disprove the other.
 */
export interface Personality {
  readonly vendor: string
  readonly product: string
  readonly firmware: string
  /** Ids of the system, the manager and the chassis, which only links tell. */
  readonly ids: { readonly system: string; readonly manager: string; readonly chassis: string }
  /** Whether there is a SessionService. Otherwise only Basic authentication works. */
  readonly hasSessions: boolean
  /** Whether InsertMedia refuses `Inserted` and `WriteProtected` as unknown parameters. */
  readonly refusesInserted: boolean
  /** Whether `ImageName` keeps the name of the medium after it was ejected. */
  readonly keepsImageName: boolean
  /** How long after power-off `On` is refused, in ms. */
  readonly refusesOnForMs: number
  /** Whether a reset is a task that the response names. */
  readonly resetsAsTask: boolean
  /** Whether the older and the newer model of power and temperature exist. */
  readonly hasOldModels: boolean
  readonly hasNewModels: boolean
  /** How the light is switched: by `LocationIndicatorActive`, or by the older `IndicatorLED`. */
  readonly light: 'location' | 'led'
  /** Where the collection of virtual media is. */
  readonly mediaUnder: 'manager' | 'system'
  /** Whether `$expand` works. */
  readonly expands: boolean
}

const plain: Personality = {
  vendor: 'Simulated',
  product: 'Simulated BMC',
  firmware: '2.18.0',
  ids: { system: 'system', manager: 'bmc', chassis: 'chassis' },
  hasSessions: true,
  refusesInserted: false,
  keepsImageName: false,
  refusesOnForMs: 0,
  resetsAsTask: false,
  hasOldModels: true,
  hasNewModels: true,
  light: 'location',
  mediaUnder: 'manager',
  expands: true,
}

/** Personalities by name. `plain` is by the book; the others have the quirks of a maker. */
export const PERSONALITIES = {
  plain,
  /**
   * As some Supermicro boards: no sessions, `Inserted` and `WriteProtected` are refused, and the
   * name of an ejected image stays (community.general 6969 and 12537).
   */
  'no-sessions': {
    ...plain,
    vendor: 'Supermicro',
    product: 'Simulated X13 BMC',
    firmware: '01.03.19',
    ids: { system: '1', manager: '1', chassis: '1' },
    hasSessions: false,
    refusesInserted: true,
    keepsImageName: true,
    hasNewModels: false,
    light: 'led',
    expands: false,
  },
  /** As iDRAC10: `On` is refused with 409 up to 60 s after the power went off. */
  'late-on': {
    ...plain,
    vendor: 'Dell',
    product: 'Simulated Remote Access Controller',
    firmware: '1.20.25.00',
    ids: {
      system: 'System.Embedded.1',
      manager: 'iDRAC.Embedded.1',
      chassis: 'System.Embedded.1',
    },
    refusesOnForMs: 60_000,
    mediaUnder: 'system',
    resetsAsTask: true,
  },
} as const satisfies Record<string, Personality>
export type PersonalityName = keyof typeof PERSONALITIES
export const PERSONALITY_NAMES = Object.keys(PERSONALITIES) as [
  PersonalityName,
  ...PersonalityName[],
]
