/** Checks of the fields of a request's body. Each throws `Refusal` that names the field. */
import { type Json, Refusal } from './refusal.ts'

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'null'
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

export const wrongType = (value: unknown, name: string): Refusal =>
  new Refusal('PropertyValueTypeError', [shown(value), name], { related: name })

export const oneOf = <Value extends string>(
  value: unknown,
  list: readonly Value[],
  name: string,
): Value => {
  if (typeof value !== 'string') throw wrongType(value, name)
  const found = list.find((one) => one === value)
  if (found === undefined)
    throw new Refusal('PropertyValueNotInList', [shown(value), name], { related: name })
  return found
}

export const aText = (value: unknown, name: string, longest: number): string => {
  if (typeof value !== 'string') throw wrongType(value, name)
  if (value.length > longest)
    throw new Refusal('PropertyValueOutOfRange', [shown(value), name], { related: name })
  return value
}

export const aBoolean = (value: unknown, name: string): boolean => {
  if (typeof value !== 'boolean') throw wrongType(value, name)
  return value
}

export const aNumber = (value: unknown, name: string, least: number, most: number): number => {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongType(value, name)
  if (value < least || value > most)
    throw new Refusal('PropertyValueOutOfRange', [shown(value), name], { related: name })
  return value
}

export const anObject = (value: unknown, name: string): Json => {
  if (!isJson(value)) throw wrongType(value, name)
  return value
}

/**
 * Sets the properties of a PATCH, each by its own function. All are checked before any is set: the
 * functions check and return what sets.
 */
export const patched = (
  body: Json,
  setters: Readonly<Record<string, (value: unknown) => () => void>>,
  document: Json,
): void => {
  const names = Object.keys(body).filter((name) => !name.startsWith('@odata.'))
  if (names.length === 0) throw new Refusal('NoOperation')
  const acts = names.map((name) => {
    const setter = Object.hasOwn(setters, name) ? setters[name] : undefined
    if (setter) return setter(body[name])
    throw new Refusal(
      Object.hasOwn(document, name) ? 'PropertyNotWritable' : 'PropertyUnknown',
      [name],
      { related: name },
    )
  })
  for (const act of acts) act()
}

/** The parameters of an action. Throws for one that the action doesn't have. */
export const parameters = (body: Json, action: string, known: readonly string[]): Json => {
  for (const name of Object.keys(body))
    if (!known.includes(name)) throw new Refusal('ActionParameterUnknown', [action, name])
  return body
}

/** A parameter with one of the values. Throws if it is missing or has another value. */
export const parameterOf = <Value extends string>(
  body: Json,
  action: string,
  name: string,
  list: readonly Value[],
): Value => {
  const value = body[name]
  if (value === undefined) throw new Refusal('ActionParameterMissing', [action, name])
  if (typeof value !== 'string')
    throw new Refusal('ActionParameterValueTypeError', [shown(value), name, action])
  const found = list.find((one) => one === value)
  if (found === undefined)
    throw new Refusal('ActionParameterValueNotInList', [shown(value), name, action])
  return found
}
