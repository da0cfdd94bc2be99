/** The data that a contact reads from a server at longer intervals than its stage. */
import { hash } from 'node:crypto'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import {
  type Inventory,
  type MachineStatus,
  readInventory,
  readStatus,
  type Status,
  tolerated,
} from '#talos/client/inventory.ts'
import { type ResourceKind, resources } from '#talos/client/resources.ts'
import type { ReadOptions } from '#talos/client/state.ts'

/** All stored data of a machine. */
export interface Reading {
  readonly status: Status
  readonly inventory: Inventory
  readonly secureBoot: boolean | null
}

/**
 * A reading that waits until it is stored, with the hardware as the text that the database stores:
 * as objects it takes several times the memory.
 */
export interface PackedReading {
  readonly status: Status
  readonly hardware: string
  readonly secureBoot: boolean | null
}

/**
 * Resources of a reading that change while a machine in maintenance runs. Changes of the others
 * need a reboot, after which the machine shows another certificate.
 */
const changing: readonly ResourceKind[] = [
  resources.hostname,
  resources.systemDisk,
  resources.disk,
  resources.discoveredVolume,
  resources.link,
  resources.address,
  resources.route,
]
/**
 * Answers with more bytes have no digest: a machine isn't trusted, and the bytes wait until all
 * answers have arrived.
 */
const mostDigestedBytes = 256 * 1024

/** What an answer counts in addition to its own bytes, so that empty ones are limited too. */
const answerBytes = 64

/**
 * Makes one number of the answers about `changing`. Talos gives each resource a version that grows
 * with its changes, so equal answers mean equal resources.
 */
function digester() {
  const answers = new Map(changing.map((kind): [string, Buffer[]] => [kind.type, []]))
  let left = mostDigestedBytes
  return {
    /** Returns false if the answers are too large. */
    add(kind: ResourceKind, bytes: Buffer): boolean {
      const ofKind = answers.get(kind.type)
      if (ofKind !== undefined && left >= 0) {
        left -= bytes.length + answerBytes
        ofKind.push(bytes)
      }
      return left >= 0
    },
    /** 48 bits of the SHA-256; undefined if the answers are too large. */
    digest: (): number | undefined =>
      left < 0
        ? undefined
        : hash(
            'sha256',
            Buffer.concat([...answers.values()].flatMap((ofKind) => [...ofKind, separator])),
            'buffer',
          ).readUIntBE(0, 6),
  }
}
const separator = Buffer.alloc(1)

/** @param known the machine's stage, if it was just read */
export async function readEverything(
  client: TalosClient,
  known?: MachineStatus,
  options: ReadOptions = {},
): Promise<Reading> {
  const [status, inventory, security] = await Promise.all([
    readStatus(client, options, known),
    readInventory(client, options),
    securityOf(client),
  ])
  return { status, inventory, secureBoot: security }
}

/**
 * Also returns the digest of what may change until the machine's next reboot; undefined: it has
 * none.
 */
export async function readWithDigest(
  client: TalosClient,
  known?: MachineStatus,
): Promise<{ reading: Reading; digest: number | undefined }> {
  const answers = digester()
  const reading = await readEverything(client, known, {
    seen: (kind, bytes) => void answers.add(kind, bytes),
  })
  return { reading, digest: answers.digest() }
}

/**
 * The digest that `readWithDigest` would return now, with seven calls instead of thirteen, and
 * without decoding the answers.
 */
export async function readDigest(
  client: Pick<TalosClient, 'get' | 'listBytes'>,
): Promise<number | undefined> {
  const answers = digester()
  const seen = (kind: ResourceKind, bytes: Buffer) => answers.add(kind, bytes)
  const read = (kind: ResourceKind) =>
    kind === resources.hostname
      ? client.get(kind, 'hostname', { seen: (_, bytes) => void seen(kind, bytes) })
      : client.listBytes(kind, (bytes) => seen(kind, bytes))
  await Promise.all(changing.map((kind) => tolerated<unknown>(read(kind))))
  return answers.digest()
}

async function securityOf(client: TalosClient): Promise<boolean | null> {
  try {
    const state = await client.get(resources.securityState, 'securitystate')
    return state ? state.spec.secureBoot : null
  } catch (error) {
    // Talos versions without this call refuse it; any other error makes the reading fail.
    if (
      error instanceof TalosError &&
      (error.kind === 'permission_denied' || error.kind === 'unimplemented')
    )
      return null
    throw error
  }
}
