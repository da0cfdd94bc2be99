/** `audit verify [--head HASH@SEQ]`: checks the hash chain of the audit log and prints whether it is intact. Changes nothing. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { counted } from '#contract/words.ts'
import type { Config } from '../config.ts'
import { audit, type ChainVerdict } from '../domains/audit/audit.ts'
import type { ChainHead } from '../domains/events/chain.ts'
import { Refusal } from '../refusal.ts'
import { readKeyFile } from '../vault/key-file.ts'
import { vault } from '../vault/vault.ts'
import { messageOf, withDatabase, withSettings } from './command.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

function readHead(text: string): ChainHead | undefined {
  const match = /^([0-9a-f]{64})@([1-9]\d{0,14})$/.exec(text)
  return match ? { hash: match[1]!, seq: Number(match[2]) } : undefined
}

async function verdictOf(config: Config, around: Surroundings, noted: ChainHead | undefined): Promise<ChainVerdict> {
  // Checks first that key and database exist, because verifying must not create them.
  if (!(await stat(config.keyFile).catch(() => undefined)))
    throw new Refusal(`The chain can't be checked, because there is no key file at ${config.keyFile}: set STEELYARD_KEY_FILE to its path`)
  if (config.databaseUrl === undefined && !(await stat(path.join(config.dataFolder, 'process-id')).catch(() => undefined)))
    throw new Refusal(`Steelyard has not run with the data folder ${config.dataFolder} yet: set STEELYARD_DATA to the right one`)
  const keys = await readKeyFile(config.keyFile)
  return withDatabase(config, around, ({ db }) => audit({ db, vault: vault({ keys, escrowFolder: path.join(config.dataFolder, 'escrow') }) }).verify(noted))
}

/** Exit codes: 0 the chain is intact, 1 the chain is broken, 2 wrong usage, 7 the chain could not be checked. */
export async function auditVerify(args: readonly string[], around: Surroundings): Promise<number> {
  const { out, err } = around
  const [option, text, more] = args
  const noted = option === '--head' && text !== undefined ? readHead(text) : undefined
  if (more !== undefined || (option !== undefined && !noted)) {
    err('--head takes 64 hexadecimal digits, @, and the number of the entry, as in the log line audit.head\nUsage: steelyard audit verify [--head HASH@SEQ]\n')
    return exitCodes.usage
  }
  const check = async (config: Config): Promise<number> => {
    const verdict = await verdictOf(config, around, noted)
    if (!verdict.ok) {
      err(`The audit log is not intact: entry ${verdict.seq} ${verdict.reason}\n`)
      return exitCodes.failure
    }
    const { entries, unkeyed, head } = verdict
    const older = unkeyed === 0 ? '' : `, the first ${unkeyed} of them written before the chain had a key`
    out(`The audit log is intact: ${counted(entries, 'entry', 'entries')}${older}\n`)
    if (entries > 0) out(`Head: ${head.hash}@${head.seq}\n`)
    return exitCodes.ok
  }
  return withSettings(around, check, {
    sentence: (error) => `The audit log could not be checked: ${messageOf(error)}`,
    exitCode: () => exitCodes.unreachable,
  })
}
