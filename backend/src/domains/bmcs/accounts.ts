/** Passwords and sessions of BMCs: sealed where they are stored, opened where they are used. */
import type { Account, SignedIn } from '#redfish/client/client.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Vault } from '../../vault/vault.ts'
import type { BmcRow } from './store.ts'
import * as store from './store.ts'

type On = Db | Tx

const ofBmc = (id: string) => ({ table: 'bmc', column: 'password_sealed', owner: id })
const ofCredential = (id: string) => ({
  table: 'bmc_credential',
  column: 'password_sealed',
  owner: id,
})
const ofSession = (id: string) => ({ table: 'bmc_contact', column: 'session_sealed', owner: id })

export interface Accounts {
  readonly sealForBmc: (tx: Tx, id: string, password: string) => Promise<Uint8Array>
  readonly sealForCredential: (tx: Tx, id: string, password: string) => Promise<Uint8Array>
  readonly sealSession: (tx: Tx, id: string, session: SignedIn) => Promise<Uint8Array>
  readonly openSession: (on: On, id: string, sealed: Uint8Array) => Promise<SignedIn>
  /** The account with which Steelyard signs in; undefined if nobody has said one. */
  readonly of: (on: On, row: BmcRow) => Promise<Account | undefined>
}

export function accounts({ vault }: { readonly vault: Vault }): Accounts {
  const seal = (tx: Tx, place: { table: string; column: string; owner: string }, text: string) =>
    vault.seal(tx, { ...place, bytes: Buffer.from(text) })
  return {
    sealForBmc: (tx, id, password) => seal(tx, ofBmc(id), password),
    sealForCredential: (tx, id, password) => seal(tx, ofCredential(id), password),
    sealSession: (tx, id, session) => seal(tx, ofSession(id), JSON.stringify(session)),
    openSession: async (on, id, sealed) =>
      JSON.parse((await vault.open(on, { ...ofSession(id), sealed })).toString('utf8')) as SignedIn,
    async of(on, row) {
      if (row.credential_id !== null) {
        const credential = await store.credential(on, row.credential_id)
        if (!credential) return undefined
        const { id, username, password_sealed: sealed } = credential
        const password = await vault.open(on, { ...ofCredential(id), sealed })
        return { username, password: password.toString('utf8') }
      }
      if (row.username === null || row.password_sealed === null) return undefined
      const password = await vault.open(on, { ...ofBmc(row.id), sealed: row.password_sealed })
      return { username: row.username, password: password.toString('utf8') }
    },
  }
}
