const role = <Name extends string>(name: Name) => ({ role: name })

/**
 * Roles of the parts of a table. Given explicitly, because some browsers drop those of elements
 * that are laid out as grids.
 */
export const as = {
  table: role('table'),
  group: role('rowgroup'),
  row: role('row'),
  head: role('columnheader'),
  cell: role('cell'),
}
