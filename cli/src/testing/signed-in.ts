import { startApi } from './api.ts'
import { startCli } from './cli.ts'
import { aDatacenter } from './things.ts'

export const poznan = aDatacenter()

export async function signedIn() {
  const api = await startApi()
  return { api, cli: await startCli(api) }
}
