/** Firmware and logs (DSP0268 `SoftwareInventory`, `LogService`, `LogEntry`). */
import * as z from 'zod/mini'
import { flag, link, moment, number, parts, status, text } from './lenient.ts'

export const firmware = z.object({
  Id: text,
  Name: text,
  Version: text,
  ReleaseDate: moment,
  Updateable: flag,
  Manufacturer: text,
  Status: status,
})

export const logService = z.object({
  Id: text,
  Name: text,
  LogEntryType: text,
  DateTime: moment,
  Entries: link,
})

/** A page of entries. */
export const logEntries = z.object({
  'Members@odata.count': number,
  'Members@odata.nextLink': text,
  Members: parts({
    Id: text,
    Created: moment,
    Severity: text,
    Message: text,
    MessageId: text,
    EntryType: text,
    SensorType: text,
  }),
})
