/** The kinds of changes, by the name that the contract gives them. */
import { defragment } from './defragment.ts'
import type { ChangeKinds } from './frame.ts'

export const changeKinds: ChangeKinds = { defragment }
