import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Server } from '#contract/servers/servers.ts'
import { startCli } from './cli.ts'
import { type Installation, numberedServer, startInstallation } from './installation.ts'
import { id } from './things.ts'

export const datacenter = 'kind: datacenter\ncode: PL-POZ-1\ncity_name: Poznań\ntier: 3\n'
export const subnet =
  'kind: subnet\nname: edge-pool\ndatacenter: PL-POZ-1\ncidr: 198.18.7.0/26\ngateway: 198.18.7.1\nexclude: [198.18.7.9, 198.18.7.4-198.18.7.8]\n'
export const rack = [
  datacenter,
  'kind: join-token\nname: rack-3\ndatacenter: PL-POZ-1\nlifetime_hours: 24\n',
  `kind: server\nuuid: ${id(901)}\nname: cp-1\ndatacenter: PL-POZ-1\n`,
  'kind: server\nserial: S-2\nname: w-1\ndatacenter: PL-POZ-1\n',
  subnet,
  'kind: image\ntalos_version: v1.13.0\nextensions: [siderolabs/gvisor]\ntoken: rack-3\n',
  'kind: patch\nserver: w-1\nname: sysctls\nlabels: {team: edge}\nbody: |\n  machine:\n    sysctls: {a: "1"}\n',
  'kind: cluster\nname: web\ndatacenter: PL-POZ-1\nservers:\n  - {server: cp-1, role: control_plane}\n  - {server: w-1, role: worker}\nsubnets: [edge-pool]\n',
].join('---\n')

/** An installation with two unnamed servers, and a CLI that applies files. */
export async function withRack(
  servers: Server[] = [numberedServer(1), numberedServer(2)].map((s) => ({
    ...s,
    datacenter: null,
  })),
) {
  const there = await startInstallation(servers)
  const cli = await startCli(there.api)
  const file = join(cli.folder, 'racks.yaml')
  const apply = async (text: string, more = '--yes') => {
    await writeFile(file, text)
    return cli.run(`apply -f ${file}${more === '' ? '' : ` ${more}`}`)
  }
  const diff = async (text: string, more = '') => {
    await writeFile(file, text)
    return cli.run(`diff -f ${file}${more}`)
  }
  return { there, cli, file, apply, diff }
}
export const writes = ({ api }: Installation) =>
  api.calls.filter((c) => !/(?:List|Get)$/.test(c.operation)).map((c) => c.operation)
