/** The person as the target of an audit entry. */
export const targetOf = ({ id, email }: { id: string; email: string }) =>
  ({ kind: 'user', id, name: email }) as const
