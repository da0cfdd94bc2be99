/**
 * What vendors do differently, as facts. A row says how to know the vendor and what is different;
 * code elsewhere asks for the fact and never for the vendor. Each row has a test that fails without
 * it (`vendors.test.ts`). Sources: design notes `redfish-facts.md`, section 2, and the threads named
 * there.
 */
import type { Read } from '../readers/readers.ts'

export interface Facts {
  /** Name for people; null if no row knows the BMC. */
  readonly vendor: string | null
  /** Time in ms for which an act is tried again while the BMC says that it isn't ready for it. */
  readonly readyWithinMs: number
  /** Shortest time in ms between two acts. */
  readonly betweenActsMs: number
  /** Words of `PowerState` beyond the standard's. */
  readonly powerWords: Readonly<Record<string, 'turning_on' | 'turning_off'>>
}

/** What a BMC says of itself. */
export interface Described {
  readonly root: Pick<Read<'root'>, 'Vendor' | 'Product' | 'Oem'>
  readonly system?: Pick<Read<'system'>, 'Manufacturer' | 'Model'> | null
  readonly manager?: Pick<Read<'manager'>, 'Model' | 'Manufacturer' | 'FirmwareVersion'> | null
}

interface Row {
  readonly vendor: string
  /** Matches a maker's or a product's name in any of the texts. */
  readonly is: RegExp
  readonly differs: Partial<Omit<Facts, 'vendor'>>
}

const usual: Omit<Facts, 'vendor'> = {
  readyWithinMs: 15_000,
  betweenActsMs: 0,
  powerWords: {},
}

/** The first row that matches counts, so a product stands before its maker. */
export const rows: readonly Row[] = [
  {
    vendor: 'Dell',
    is: /\bdell\b|idrac/i,
    // iDRAC10 refuses `On` with 409 for up to 60 s after off; iDRAC9 answers SYS518, "not ready",
    // and wants some 20 s between acts with firmware 5.x.
    differs: { readyWithinMs: 90_000, betweenActsMs: 20_000 },
  },
  {
    vendor: 'HPE',
    is: /\bhpe?\b|hewlett|\bilo\b/i,
    // `InvalidOperationForSystemState` right after an act, `UnableToModifyDuringSystemPOST`, and
    // the power state `Reset` between off and on.
    differs: { readyWithinMs: 60_000, powerWords: { reset: 'turning_on' } },
  },
  {
    vendor: 'Lenovo',
    is: /lenovo|\bxcc\b/i,
    differs: {},
  },
  {
    vendor: 'Supermicro',
    is: /supermicro|\bsmc\b/i,
    differs: {},
  },
  { vendor: 'OpenBMC', is: /openbmc/i, differs: {} },
  { vendor: 'AMI', is: /\bami\b|megarac|asrock/i, differs: {} },
]

export function factsOf({ root, system, manager }: Described): Facts {
  const texts = [
    root.Vendor,
    root.Product,
    ...root.Oem,
    manager?.Manufacturer,
    manager?.Model,
    system?.Manufacturer,
  ].filter((text) => typeof text === 'string')
  const row = rows.find(({ is }) => texts.some((text) => is.test(text)))
  return { ...usual, ...row?.differs, vendor: row?.vendor ?? null }
}
