import { type Role, roles } from '#contract/permissions.ts'
import { sentence } from '../../../lib/text.ts'

const does: Readonly<Record<Role, string>> = {
  viewer: 'sees everything, changes nothing',
  operator: 'changes everything but users',
  admin: 'also manages users',
}

/** Choices of a role in a form. */
export const roleOptions = roles.map((role) => ({
  value: role,
  text: sentence(role),
  more: does[role],
}))
