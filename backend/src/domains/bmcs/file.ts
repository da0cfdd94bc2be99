/** Reads BMCs from CSV. */
import { bmcPassword, bmcUsername } from '#contract/bmcs/credentials.ts'
import { Problem } from '#contract/errors.ts'
import { AllLabels } from '#contract/labels/labels.ts'
import * as z from 'zod/mini'
import { cellsOf, entrySeparator, readTable } from '../../csv/table.ts'
import type { BoxWishes } from '../../db/columns.ts'
import type { BmcWorld } from './parts.ts'

/** A BMC that somebody has listed. */
export interface NewBmc {
  readonly address: string
  readonly username?: string
  readonly password?: string
  readonly wishes: BoxWishes
}

const columns = {
  columns: ['address', 'username', 'password', 'datacenter', 'rack', 'unit', 'labels'],
  required: ['address'],
} as const

/** @throws Problem invalid with the first lines that can't be read */
export async function fromCsv(
  { datacenters, policy }: Pick<BmcWorld, 'datacenters' | 'policy'>,
  csv: string,
  port: number,
  datacenterId: string | null,
): Promise<NewBmc[]> {
  const refuse = (problems: readonly { line: number; message: string }[]) => {
    const text = problems
      .slice(0, 5)
      .map(({ line, message }) => `Line ${line}: ${message}`)
      .join('. ')
    return new Problem('invalid', text, { csv: text })
  }
  const table = readTable(csv, columns)
  if ('problems' in table) throw refuse(table.problems)
  const problems = [...table.unreadable]
  const sites = new Map((await datacenters.names()).map((one) => [one.code, one.id]))
  const rows = table.body.flatMap((record): NewBmc[] => {
    const cells = cellsOf(record, table.columns, columns)
    const wrong = (message: string): [] => {
      problems.push({ line: record.line, column: null, message })
      return []
    }
    if (typeof cells === 'string') return wrong(cells)
    const cell = (name: (typeof columns.columns)[number]) => cells.get(name) ?? ''
    const [username, password] = [cell('username'), cell('password')]
    if ((username === '') !== (password === ''))
      return wrong('Give the user name and the password together')
    const account = z.safeParse(z.object({ username: bmcUsername, password: bmcPassword }), {
      username,
      password,
    })
    if (username !== '' && !account.success)
      return wrong(account.error.issues[0]?.message ?? 'The user name or the password is invalid')
    const site = cell('datacenter') === '' ? datacenterId : sites.get(cell('datacenter'))
    if (site === undefined)
      return wrong(`There is no datacenter ${cell('datacenter').slice(0, 40)}`)
    const labels = z.safeParse(
      AllLabels,
      Object.fromEntries(
        cell('labels')
          .split(entrySeparator)
          .flatMap((text) => {
            const [key = '', ...rest] = text.trim().split('=')
            return key === '' ? [] : [[key, rest.join('=')] as const]
          }),
      ),
    )
    if (!labels.success) return wrong(labels.error.issues[0]?.message ?? 'A label is invalid')
    const unit = cell('unit') === '' ? undefined : Number(cell('unit'))
    if (unit !== undefined && !(Number.isInteger(unit) && unit >= 1 && unit <= 60))
      return wrong('The unit is a number from 1 to 60')
    if ((cell('rack') === '') !== (unit === undefined))
      return wrong('Give the rack and the unit together')
    try {
      return [
        {
          address: policy.read(cell('address'), port, 'csv'),
          ...(username !== '' && { username, password }),
          wishes: {
            datacenter_id: site,
            labels: labels.data,
            ...(unit !== undefined && { rack: cell('rack').slice(0, 100), unit }),
          },
        },
      ]
    } catch (error) {
      if (error instanceof Problem) return wrong(error.message)
      throw error
    }
  })
  if (problems.length > 0) throw refuse(problems.toSorted((a, b) => a.line - b.line))
  const seen = new Set<string>()
  for (const { address } of rows) {
    if (seen.has(address)) throw refuse([{ line: 1, message: `${address} stands there twice` }])
    seen.add(address)
  }
  return rows
}
