/**
 * `audit verify [--head HASH@SEQ]`: checks the hash chain of the audit log and prints whether it is
 * intact. Changes nothing.
 */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { auditHeadHint, type AuditHead, auditVerdict, readAuditHead } from '#contract/audit.ts'
import type { Config } from '../config.ts'
import { verifyAudit } from '../domains/audit/audit.ts'
import type { ChainVerdict } from '../domains/audit/api.ts'
import { checkOf } from '../domains/audit/verify/chain-check.ts'
import { Refusal } from '../refusal.ts'
import { readKeyFile } from '../vault/key-file.ts'
import { vault } from '../vault/vault.ts'
import { demandHasRun, messageOf, withDatabase, withSettings } from './command.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

async function verdictOf(
  config: Config,
  around: Surroundings,
  noted: AuditHead | undefined,
): Promise<ChainVerdict> {
  // Checks first that key and database exist, because verifying must not create them.
  if (!(await stat(config.keyFile).catch(() => undefined)))
    throw new Refusal(
      `The chain can't be checked, because there is no key file at ${config.keyFile}: set STEELYARD_KEY_FILE to its path`,
    )
  await demandHasRun(config)
  const keys = await readKeyFile(config.keyFile)
  return withDatabase(
    config,
    around,
    ({ db }) =>
      verifyAudit(
        { db, vault: vault({ keys, escrowFolder: path.join(config.dataFolder, 'escrow') }) },
        noted,
      ),
    { mayMake: false },
  )
}

/**
 * Exit codes: 0 the chain is intact, 1 the chain is broken, 2 wrong usage, 7 the chain could not be
 * checked.
 */
export async function auditVerify(args: readonly string[], around: Surroundings): Promise<number> {
  const { out, err } = around
  const [option, text, more] = args
  const noted = option === '--head' && text !== undefined ? readAuditHead(text) : undefined
  if (more !== undefined || (option !== undefined && !noted)) {
    err(`--head takes ${auditHeadHint}\nUsage: steelyard audit verify [--head HASH@SEQ]\n`)
    return exitCodes.usage
  }
  const check = async (config: Config): Promise<number> => {
    const result = checkOf(await verdictOf(config, around, noted))
    if (result.state === 'broken') {
      err(`${auditVerdict(result)}\n`)
      return exitCodes.failure
    }
    out(`${auditVerdict(result)}\n`)
    if (result.head !== null) out(`Head: ${result.head}\n`)
    return exitCodes.ok
  }
  return withSettings(around, check, {
    sentence: (error) => `The audit log could not be checked: ${messageOf(error)}`,
    exitCode: () => exitCodes.unreachable,
  })
}
