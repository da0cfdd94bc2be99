import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import {
  clusterImport,
  clusterImportPreview,
  clusterKeyReplace,
  clusterSecretsImport,
  type Takeover,
} from '#contract/clusters/takeover.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aCluster, aDatacenter, anOperation, id, pageOf } from '../testing/things.ts'

const seen = 'cd'.repeat(32)
const found: Takeover = {
  name: 'theirs',
  endpoint: 'https://10.0.4.11:6443',
  virtual_ip: false,
  talos_version: 'v1.13.9',
  kubernetes_version: '1.36.3',
  pod_cidr: '10.244.0.0/16',
  service_cidr: '10.96.0.0/12',
  servers: [
    {
      name: 'talos-abc',
      address: '10.0.4.11',
      role: 'control_plane',
      uuid: id(90),
      serial: 'S-1',
      product: null,
      talos_version: 'v1.13.9',
      known: null,
      problem: null,
    },
  ],
  checks: [
    { check: 'secrets', ok: true, message: 'The secrets are the same as on its control plane' },
  ],
  existing: [],
  seen,
}

async function withTakeover(preview: Takeover = found) {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(datacenterList, () => pageOf([aDatacenter()]))
  api.on(clusterGet, () => aCluster())
  api.on(clusterImportPreview, () => preview)
  api.on(clusterImport, () => ({ cluster: aCluster({ name: 'theirs' }), operation: anOperation() }))
  api.on(clusterSecretsImport, () => aCluster())
  const file = join(cli.folder, 'secrets.yaml')
  await writeFile(file, 'cluster: {}\n')
  return { api, cli, file }
}

test('a cluster is previewed, and then taken over as the preview showed', async () => {
  const { api, cli, file } = await withTakeover()
  const dry = await cli.run(
    `cluster import --secrets ${file} --address 10.0.4.11 --datacenter PL-POZ-1 --dry-run`,
  )
  expect(dry).toMatchObject({ exit: 0, out: expect.stringContaining('talos-abc') as string })
  expect(api.callsOf(clusterImport)).toHaveLength(0)
  expect(
    await cli.run(`cluster import --secrets ${file} --address 10.0.4.11 --datacenter PL-POZ-1`),
  ).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--yes') as string,
  })
  expect(
    await cli.run(
      `cluster import --secrets ${file} --address 10.0.4.11 --datacenter PL-POZ-1 --yes`,
    ),
  ).toMatchObject({
    exit: 0,
    out: 'Cluster theirs is ready\n',
  })
  expect(api.callsOf(clusterImport)[0]!.body).toMatchObject({
    secrets: 'cluster: {}\n',
    addresses: ['10.0.4.11'],
    seen,
  })
})

const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

test('objects that exist in the cluster are shown and kept, unless --replace names them and the name of the cluster confirms it', async () => {
  const key = {
    object: 'cluster_key' as const,
    name: 'Secret kube-system/steelyard-cluster-key',
    message: `Its address is ${address}.`,
    replaceable: true,
  }
  const { api, cli, file } = await withTakeover({ ...found, existing: [key] })
  const asked = `cluster import --secrets ${file} --address 10.0.4.11 --datacenter PL-POZ-1`
  expect((await cli.run(`${asked} --dry-run`)).out).toMatch(
    /steelyard-cluster-key +kept, unless --replace cluster_key +Its address is 0x5aAe/,
  )
  expect(await cli.run(`${asked} --replace cluster_key --yes`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('needs --confirm') as string,
  })
  expect(api.callsOf(clusterImport)).toHaveLength(0)
  expect(await cli.run(`${asked} --yes`)).toMatchObject({ exit: 0 })
  expect(api.callsOf(clusterImport)[0]!.body).not.toHaveProperty('replace')
  expect(await cli.run(`${asked} --replace cluster_key --confirm theirs --yes`)).toMatchObject({
    exit: 0,
  })
  expect(api.callsOf(clusterImport)[1]!.body).toMatchObject({
    replace: ['cluster_key'],
    confirm: 'theirs',
  })
})

test('a kept key is shown with what it means, and replaced if the name of the cluster confirms it', async () => {
  const { api, cli } = await withTakeover()
  const cluster = aCluster({ kept: [{ object: 'cluster_key', address }] })
  api.on(clusterGet, () => cluster)
  api.on(clusterKeyReplace, () => aCluster({ chainAddress: address }))
  expect((await cli.run(`cluster show ${id(20)}`)).out).toContain(
    `The cluster has the key of another Steelyard or of an earlier management, ${address}`,
  )
  expect(await cli.run(`cluster replace-key ${id(20)}`)).toMatchObject({ exit: 2 })
  expect(api.callsOf(clusterKeyReplace)).toHaveLength(0)
  expect(await cli.run(`cluster replace-key ${id(20)} --confirm web`)).toMatchObject({
    exit: 0,
    out: `The key of web is ${address}\n`,
  })
  expect(api.callsOf(clusterKeyReplace)[0]!.body).toEqual({ address, confirm: 'web' })
})

test('if something prevents a takeover, the reasons are printed, the command fails, and nothing is taken over', async () => {
  const asked = (file: string, more: string) =>
    `cluster import --secrets ${file} --datacenter PL-POZ-1 ${more}`
  const silent = await withTakeover({
    ...found,
    servers: [{ ...found.servers[0]!, uuid: null, problem: 'did not answer within 8 s' }],
  })
  expect(await silent.cli.run(asked(silent.file, '--dry-run'))).toMatchObject({
    exit: 1,
    out: expect.stringContaining('did not answer within 8 s') as string,
  })
  expect(await silent.cli.run(asked(silent.file, '--yes'))).toMatchObject({
    exit: 7,
    out: '',
    err: expect.stringMatching(
      /talos-abc: did not answer within 8 s\ntheirs was not taken over\n$/,
    ) as string,
  })
  expect(silent.api.callsOf(clusterImport)).toHaveLength(0)

  const message = 'Cluster name already exists. Please choose a different name.'
  const taken = await withTakeover({ ...found, checks: [{ check: 'name', ok: false, message }] })
  expect(await taken.cli.run(asked(taken.file, '--yes'))).toMatchObject({
    exit: 6,
    out: '',
    err: expect.stringContaining(message) as string,
  })
  expect(taken.api.callsOf(clusterImport)).toHaveLength(0)
  expect(await taken.cli.run('cluster import --datacenter PL-POZ-1')).toMatchObject({
    exit: 2,
    err: 'Give either --secrets or --talosconfig\n',
  })
})

test('new secrets of a cluster are imported from a file', async () => {
  const { api, cli, file } = await withTakeover()
  expect(await cli.run(`cluster import-secrets ${id(20)} --talosconfig ${file}`)).toMatchObject({
    exit: 0,
    out: 'The secrets of web are imported\n',
  })
  expect(api.callsOf(clusterSecretsImport)[0]!.body).toEqual({ talosconfig: 'cluster: {}\n' })
})

test("the list of clusters marks clusters whose machines refuse Steelyard's certificate, and says what to do", async () => {
  const { api, cli } = await withTakeover()
  api.on(clusterList, () =>
    pageOf([
      aCluster({ locked_out: { authority: 'talos_ca', since: '2026-11-20T08:00:00.000Z' } }),
    ]),
  )
  expect((await cli.run('cluster list')).out).toContain('Talos CA was changed outside of Steelyard')
})
