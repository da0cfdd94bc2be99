/** Logs: of the hardware, under the system, and of the BMC, under the manager. */
import type { Bmc } from './bmc.ts'
import { parameters } from './fields.ts'
import type { LogName } from './kept.ts'
import { addCollection, document, HEALTHY, link, NO_CONTENT, type Tree } from './tree.ts'

const IDS = { system: 'SEL', manager: 'Log' } as const

export const addLogs = (tree: Tree, bmc: Bmc, above: string, name: LogName): void => {
  const collection = `${above}/LogServices`
  const path = `${collection}/${IDS[name]}`
  addCollection(tree, collection, 'LogServiceCollection', () => [path])
  const clear = `${path}/Actions/LogService.ClearLog`
  tree.set(path, {
    read: () =>
      document(
        path,
        'LogService.v1_9_0.LogService',
        IDS[name],
        name === 'system' ? 'Hardware log' : 'Manager log',
        {
          ServiceEnabled: true,
          OverWritePolicy: 'WrapsWhenFull',
          LogEntryType: name === 'system' ? 'SEL' : 'Event',
          DateTime: instant(bmc.now()),
          DateTimeLocalOffset: '+00:00',
          Status: HEALTHY,
          Entries: link(`${path}/Entries`),
          Actions: { '#LogService.ClearLog': { target: clear } },
        },
      ),
  })
  tree.set(clear, {
    post: ({ body }) => {
      parameters(body, 'LogService.ClearLog', [])
      bmc.kept.change((state) => (state.logs[name] = []))
      return NO_CONTENT
    },
  })
  const lines = bmc.kept.state.logs[name]
  const entry = (number: number) => `${path}/Entries/${number}`
  // The entries stand in the collection itself, as with most makers.
  const entryDocument = (line: (typeof lines)[number]) =>
    document(
      entry(line.number),
      'LogEntry.v1_21_0.LogEntry',
      String(line.number),
      `Entry ${line.number}`,
      {
        EntryType: name === 'system' ? 'SEL' : 'Event',
        ...(name === 'system' && { SensorType: sensorType(line.part), EntryCode: 'Assert' }),
        Created: instant(line.at),
        Severity: line.severity,
        Message: line.message,
      },
    )
  tree.set(`${path}/Entries`, {
    read: () => {
      return {
        '@odata.id': `${path}/Entries`,
        '@odata.type': '#LogEntryCollection.LogEntryCollection',
        Name: 'Log entries',
        'Members@odata.count': lines.length,
        Members: lines.map(entryDocument),
      }
    },
  })
  for (const line of lines) tree.set(entry(line.number), { read: () => entryDocument(line) })
}

/** Value of the enumeration `SensorType` of LogEntry. */
const sensorType = (part: string): string =>
  ({
    PowerSupply: 'Power Supply / Converter',
    Fan: 'Fan',
    Memory: 'Memory',
    Drive: 'Drive Slot/Bay',
    Temperature: 'Temperature',
  })[part] ?? 'System Event'

/** A time without fractions of a second. */
export const instant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
