/** Places of servers in racks as a CSV file: exported, edited in a spreadsheet, imported. */
import * as z from 'zod/mini'
import { importAnswer, importBody } from '../csv/imports.ts'
import { narrowingOf } from '../list.ts'
import { operation, type Words } from '../operation.ts'
import { rackList } from './racks.ts'

/**
 * A row is a server and its place. Without a server it is an empty rack; without a rack the server
 * stands in none.
 */
export const rackColumns = [
  'id',
  'server',
  'serial',
  'datacenter',
  'rack',
  'rack_units',
  'unit',
  'height',
  'face',
  'bay',
] as const

export const rackExport = operation('rackExport', 'GET /v1/racks/export', 'servers:read', {
  summary:
    'Where servers stand as CSV: the servers of each rack from above, racks without servers, and servers that stand in no rack. A search (`q`) leaves the racks whose names contain its text, with their servers. Importing the file unchanged changes nothing.',
  query: z.strictObject(narrowingOf(rackList.list)),
  answer: z.string(),
  media: 'text/csv',
})

export const rackImport = operation('rackImport', 'POST /v1/racks/import', 'servers:write', {
  summary:
    'Record where servers stand, from CSV, and add the racks that are missing. Servers may exchange their places. Every row is checked and all problems are reported; rows are written only if there are no problems. `dry_run` writes nothing. Nothing is sent to a server.',
  kept: true,
  body: importBody,
  answer: importAnswer({
    /** "A-07, units 12 to 13", "no rack", or "42 units" for a row without a server. */
    place: z.string(),
    /** Whether the rack of the row is added by it. */
    adds_rack: z.boolean(),
  }),
})

/** Words for the API documentation. */
export const words: Words = {
  bodies: {
    rackImport: {
      csv: 'server,rack,unit,height,bay\nbrave-otter-042,A-07,12,2,left\n',
      dry_run: true,
    },
  },
}
