import { type Patch, patchGet, patchList } from '#contract/patches.ts'
import { command, type Command } from '../command.ts'
import { patchOf, serverId } from '../resolve.ts'
import { type Column, facts, table } from '../table.ts'
import { localTime, manyLines } from '../text.ts'

const labels = (p: Patch) =>
  Object.entries(p.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')

const columns: readonly Column<Patch>[] = [
  { title: 'NAME', text: (p) => p.name },
  { title: 'WEIGHT', text: (p) => String(p.weight), right: true },
  { title: 'ID', text: (p) => p.patch_id },
  { title: 'CREATED', text: (p) => localTime(p.created_at) },
  { title: 'LABELS', text: labels },
  { title: 'WRITTEN BY', text: (p) => (p.read_only ? 'Steelyard' : (p.created_by ?? '')) },
]

const server = { value: 'SERVER', help: 'Name or id of the server' } as const

export const patchCommands: Command[] = [
  command({
    name: 'patch list',
    summary: 'The layers of configuration of a server, in the order in which they are merged.',
    operands: { server },
    examples: ['patch list brave-otter-042'],
    async run({ terminal, api, show }, { operands }) {
      const id = await serverId(api, operands.server)
      show(await api.call(patchList, { params: { id } }), (page) => table(terminal, page.items, columns, 'No patches'))
    },
  }),
  command({
    name: 'patch show',
    summary: 'One patch with its body; secrets in it are masked.',
    operands: { server, patch: { value: 'PATCH', help: 'Name or id of the patch' } },
    examples: ['patch show brave-otter-042 static-system'],
    async run({ terminal, api, show }, { operands }) {
      const id = await serverId(api, operands.server)
      const { patch_id: patchId } = await patchOf(api, id, operands.patch)
      show(
        await api.call(patchGet, { params: { id, patchId } }),
        (p) =>
          `${facts(terminal, [
            ['Name', p.name],
            ['Id', p.patch_id],
            ['Weight', p.weight],
            ['Labels', labels(p)],
            ['Written by', p.read_only ? 'Steelyard' : p.created_by],
            ['Created', p.created_at && localTime(p.created_at)],
            ['Changed', p.updated_at && localTime(p.updated_at)],
          ])}\n${manyLines(p.body.trimEnd())}\n`,
      )
    },
  }),
]
