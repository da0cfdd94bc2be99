import type { Answer } from '#contract/operation.ts'
import { rackColumns, rackImport } from '#contract/racks/files.ts'
import { call } from '../../api/client.ts'
import { CsvImport } from '../../layout/csv-import/CsvImport.tsx'
import { Does } from '../../layout/csv-import/Does.tsx'
import type { PlainColumn } from '../../ui/table/PlainTable.tsx'
import { refreshRacks } from './rack-queries.ts'

type Row = Answer<typeof rackImport>['rows'][number]

/** What a row does; undefined for the usual word. */
function doing({ does, adds_rack, place }: Row): string | undefined {
  if (does === 'create') return 'Add rack'
  if (does === 'nothing') return undefined
  if (place === 'no rack') return 'Take out'
  return adds_rack ? 'Add rack, place' : 'Place'
}

const columns: readonly PlainColumn<Row>[] = [
  { head: 'Line', cell: (row) => row.line },
  { head: 'Does', cell: (row) => <Does does={row.does} text={doing(row)} /> },
  { head: 'Name', cell: (row) => row.name },
  { head: 'Place', cell: (row) => row.place },
]

/** Imports the places of servers in racks from CSV. */
export default function ImportRacks() {
  return (
    <CsvImport
      title="Import racks"
      nouns={{ cli: 'rack', added: 'rack', changed: 'server' }}
      operation={rackImport}
      send={(body, key) => call(rackImport, { body }, key === undefined ? {} : { key })}
      refresh={refreshRacks}
      placeholder={'server,rack,unit,height\nbrave-otter-042,A-07,12,2'}
      rowColumns={columns}
    >
      One header row, then one server per row. Columns:{' '}
      <span className="mono">{rackColumns.join(', ')}</span>. A server is found by its name, serial
      number or id. Racks that are missing are added, and a row without a rack takes the server out.
      Nothing is written unless every row is valid, and nothing is sent to a server.
    </CsvImport>
  )
}
