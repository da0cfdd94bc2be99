import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readState, writeState } from '../store.ts'
import type { BmcFault } from './faults.ts'
import type { PersonalityName } from './personality.ts'

export const ROLES = ['Administrator', 'Operator', 'ReadOnly'] as const
export type Role = (typeof ROLES)[number]

export interface Account {
  id: string
  userName: string
  password: string
  role: Role
  isEnabled: boolean
  /** Wrong passwords in a row. */
  failures: number
  /** Wall-clock time in ms until which the account is locked. */
  lockedUntil: number
}

export const LOGS = ['system', 'manager'] as const
export type LogName = (typeof LOGS)[number]

export interface LogLine {
  number: number
  /** Wall-clock time in ms. */
  at: number
  severity: 'OK' | 'Warning' | 'Critical'
  message: string
  /** Kind of the sensor or part, as the enumeration `SensorType` of Redfish names it. */
  part: string
}

export interface Medium {
  image: string
  imageName: string
  isWriteProtected: boolean
}

export const OVERRIDES = ['Disabled', 'Once', 'Continuous'] as const
export const TARGETS = ['None', 'Pxe', 'Cd', 'Hdd', 'BiosSetup', 'UefiHttp'] as const
export const MODES = ['UEFI', 'Legacy'] as const

/** State of a BMC that survives a restart of the simulator. */
export interface KeptState {
  /** Certificate and key as PEM. Null until somebody connects for the first time. */
  identity: { crt: string; key: string; fingerprint: string } | null
  personality: PersonalityName
  accounts: Account[]
  nextAccount: number
  sessionTimeoutS: number
  boot: {
    enabled: (typeof OVERRIDES)[number]
    target: (typeof TARGETS)[number]
    mode: (typeof MODES)[number]
    httpUri: string
  }
  /** Inserted images by slot. */
  media: Record<string, Medium>
  /** Name of the last image of a slot, for makers that keep it. */
  lastImageNames: Record<string, string>
  isLit: boolean
  assetTag: string
  logs: Record<LogName, LogLine[]>
  nextLine: number
  faults: BmcFault[]
}

/** Lines of a log; the oldest ones are dropped. */
const MOST_LINES = 200

/** Name and password of the account that every simulated BMC has. */
export const FACTORY_ACCOUNT = { userName: 'admin', password: 'simulated-bmc' } as const

/** The state file of one BMC. A BMC that nobody has touched has no file. */
export class Kept {
  readonly state: KeptState
  readonly #path: string

  constructor(
    folder: string,
    index: number,
    first: { personality: PersonalityName; faults: readonly BmcFault[] },
    load: boolean,
  ) {
    this.#path = join(folder, `${index + 1}.json`)
    this.state = (load ? (readState(this.#path) as KeptState | null) : null) ?? {
      identity: null,
      personality: first.personality,
      accounts: [
        {
          ...FACTORY_ACCOUNT,
          id: '1',
          role: 'Administrator',
          isEnabled: true,
          failures: 0,
          lockedUntil: 0,
        },
      ],
      nextAccount: 2,
      sessionTimeoutS: 1800,
      boot: { enabled: 'Disabled', target: 'None', mode: 'UEFI', httpUri: '' },
      media: {},
      lastImageNames: {},
      isLit: false,
      assetTag: '',
      logs: { system: [], manager: [] },
      nextLine: 1,
      faults: structuredClone([...first.faults]),
    }
  }

  /** Changes the state and persists it before returning. */
  change(act: (state: KeptState) => void): void {
    act(this.state)
    writeState(this.#path, this.state)
  }

  /** Deletes the file of a removed machine. */
  erase(): void {
    rmSync(this.#path, { force: true })
  }

  log(name: LogName, line: Omit<LogLine, 'number'>): void {
    this.change((state) => {
      state.logs[name].push({ ...line, number: state.nextLine++ })
      state.logs[name] = state.logs[name].slice(-MOST_LINES)
    })
  }
}
