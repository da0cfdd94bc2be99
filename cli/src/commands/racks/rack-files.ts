import { rackExport, rackImport } from '#contract/racks/files.ts'
import { rackList } from '#contract/racks/racks.ts'
import { command, type Command, exportOptions, exportQuery } from '../../command.ts'
import { readText } from '../../files.ts'
import { importedText } from '../../output/imported.ts'
import { table } from '../../table.ts'

const does = { create: 'Add rack', update: 'Place', nothing: '' } as const

export const rackFileCommands: Command[] = [
  command({
    name: 'rack import',
    summary:
      'Record where servers stand, from CSV, and add missing racks: either all rows are written, or none and every problem is reported with its line. Nothing is sent to a server.',
    operands: { file: { value: 'FILE', help: 'CSV with a header; - reads standard input' } },
    options: { 'dry-run': { kind: 'flag', help: 'Only show what each row would do' } },
    examples: ['rack import racks.csv --dry-run', 'rack import racks.csv'],
    async run({ terminal, api, show }, { operands, options }) {
      const csv = await readText(operands.file)
      const answer = await api.call(rackImport, { body: { csv, dry_run: options['dry-run'] } })
      show(answer, (imported) => {
        const rows =
          imported.written || imported.problems.length > 0
            ? []
            : imported.rows.filter((row) => row.does !== 'nothing')
        const plan =
          rows.length === 0
            ? ''
            : `${table(
                terminal,
                rows,
                [
                  { title: 'LINE', text: (row) => String(row.line), right: true },
                  { title: 'NAME', text: (row) => row.name },
                  {
                    title: 'DOES',
                    text: (row) =>
                      row.place === 'no rack'
                        ? 'Take out'
                        : row.does === 'update' && row.adds_rack
                          ? 'Add rack, place'
                          : does[row.does],
                  },
                  { title: 'PLACE', text: (row) => row.place },
                ],
                '',
              )}\n`
        return `${plan}${importedText(terminal, imported)}`
      })
      return answer.problems.length > 0 ? 1 : undefined
    },
  }),
  command({
    name: 'rack export',
    summary:
      'Where servers stand as CSV, which can be imported again. Without a search it has servers in no rack, too.',
    options: exportOptions(rackList.list),
    examples: ['rack export > racks.csv', 'rack export --datacenter PL-POZ-1'],
    json: false,
    async run({ terminal, api }, { options }) {
      terminal.out(await api.call(rackExport, { query: exportQuery(rackList.list, options) }))
    },
  }),
]
