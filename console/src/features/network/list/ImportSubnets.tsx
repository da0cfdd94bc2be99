import { csvColumns, subnetImport } from '#contract/network/subnets.ts'
import type { Answer } from '#contract/operation.ts'
import { call } from '../../../api/client.ts'
import { CsvImport } from '../../../layout/csv-import/CsvImport.tsx'
import { Does } from '../../../layout/csv-import/Does.tsx'
import type { PlainColumn } from '../../../ui/table/PlainTable.tsx'
import { refreshNetwork } from '../network-queries.ts'

type Row = Answer<typeof subnetImport>['rows'][number]

const columns: readonly PlainColumn<Row>[] = [
  { head: 'Line', cell: (row) => row.line },
  { head: 'Does', cell: (row) => <Does does={row.does} /> },
  { head: 'CIDR', cell: (row) => <code>{row.cidr}</code> },
  { head: 'Name', cell: (row) => row.name },
]

/** Imports subnets from CSV. */
export default function ImportSubnets() {
  return (
    <CsvImport
      title="Import subnets"
      nouns={{ cli: 'subnet', added: 'subnet', changed: 'subnet' }}
      operation={subnetImport}
      send={(body, key) => call(subnetImport, { body }, key === undefined ? {} : { key })}
      refresh={refreshNetwork}
      placeholder={
        'name,cidr,gateway,datacenter\npoz-public-b,198.51.100.0/24,198.51.100.1,PL-POZ-1'
      }
      rowColumns={columns}
    >
      One header row, then one subnet per row. Columns:{' '}
      <span className="mono">{csvColumns.join(', ')}</span>. A row with an{' '}
      <span className="mono">id</span> changes that subnet, others are added. Nothing is written
      unless every row is valid.
    </CsvImport>
  )
}
