import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { id } from '../testing/things.ts'
import { withRack, datacenter, writes, subnet } from '../testing/rack.ts'
import { processorMs } from '../../../tools/testing/processor-time.ts'

describe('files', () => {
  test('every problem is reported with its file and line, and nothing is read from Steelyard', async () => {
    const { there, cli, file, apply } = await withRack()
    const ran = await apply(
      `${datacenter}gatway: x\n---\nkind: subnett\n---\nkind: subnet\nname: Edge\ncidr: 10.0.0.0/8\n`,
    )
    expect(ran).toEqual({
      exit: 2,
      out: '',
      err: [
        `${file}:5: There is no field gatway`,
        `${file}:7: There is no kind subnett. Did you mean subnet?`,
        `${file}:10: name: Subnet name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen`,
        `${file}:9: datacenter is missing`,
        'Nothing was changed',
        '',
      ].join('\n'),
    })
    expect(there.api.calls).toEqual([])
    expect(await apply('- a\n')).toMatchObject({
      exit: 2,
      err: expect.stringContaining(':1: A document is a map') as string,
    })
    expect(await apply('# nothing\n')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('no documents') as string,
    })
    expect(await cli.run('apply')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('-f FILE') as string,
    })
    expect(await cli.run(`apply -f ${cli.folder}/none.yaml`)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('there is no such file') as string,
    })
  })

  test('two documents for one object are refused', async () => {
    const { file, apply } = await withRack()
    expect(await apply(`${datacenter}---\n${datacenter}`)).toMatchObject({
      exit: 6,
      err: expect.stringContaining(`${file}:6: ${file}:1 describes the same datacenter`) as string,
    })
    const twice = `kind: server\nuuid: ${id(901)}\n---\nkind: server\nserial: S-1\n`
    expect(await apply(twice)).toMatchObject({
      exit: 6,
      err: expect.stringContaining('describes the same server') as string,
    })
  })

  test('names that nothing defines are refused before anything is changed', async () => {
    const { there, apply } = await withRack()
    const ran = await apply(
      `${datacenter}---\nkind: patch\nserver: nobody\nname: a\nbody: x\n---\nkind: image\ntalos_version: v1.13.0\ntoken: none\n`,
    )
    expect(ran.exit).toBe(6)
    expect(ran.err).toContain('There is no server nobody, and no document gives a server this name')
    expect(ran.err).toContain('There is no join token none, and no document describes it')
    expect(writes(there)).toEqual([])
  })

  test('a folder is read with its subfolders, without hidden ones, and a link to itself is followed once', async () => {
    const { there, cli } = await withRack()
    const folder = join(cli.folder, 'racks')
    await mkdir(join(folder, 'poz'), { recursive: true })
    await mkdir(join(folder, '.git'))
    await writeFile(join(folder, 'site.yaml'), datacenter)
    await writeFile(join(folder, 'poz', 'net.yml'), subnet)
    await writeFile(join(folder, '.git', 'x.yaml'), 'not: a document\n')
    await writeFile(join(folder, 'README.md'), 'not YAML: [\n')
    await symlink(folder, join(folder, 'poz', 'again'))
    expect((await cli.run(`apply -f ${folder} --yes`)).exit).toBe(0)
    expect([there.datacenters.length, there.subnets.length]).toEqual([1, 1])
  })

  test('a file of 100 MB, and one that is not text, are refused without being parsed', async () => {
    const { cli, file } = await withRack()
    await writeFile(file, datacenter)
    await truncate(file, 100_000_000)
    let ran: unknown
    const usedMs = await processorMs(async () => (ran = await cli.run(`diff -f ${file}`)))
    expect(ran).toMatchObject({
      exit: 2,
      err: expect.stringContaining('larger than 16 MiB') as string,
    })
    expect(usedMs).toBeLessThan(5_000)
    await writeFile(file, Buffer.from([0xff, 0xfe, 0x00]))
    expect(await cli.run(`diff -f ${file}`)).toMatchObject({
      exit: 2,
      err: expect.stringContaining('not UTF-8') as string,
    })
  })
})
