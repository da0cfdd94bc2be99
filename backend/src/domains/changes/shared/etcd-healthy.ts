/** The step that waits until every member of etcd is healthy. */
import { etcdTrouble } from '../../control-planes/api.ts'
import { type ChangeTurn, type StepResult, viewOf } from '../frame.ts'

/** Step `etcd-healthy`. */
export async function etcdHealthy(turn: ChangeTurn): Promise<StepResult> {
  const trouble = await etcdTrouble(viewOf(turn))
  return trouble === null ? 'done' : { waiting: trouble, isSafe: true }
}
