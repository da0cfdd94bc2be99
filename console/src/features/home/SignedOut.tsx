import { useEffect } from 'react'
import { paths } from '../../lib/paths.ts'
import { JoinButton } from './JoinButton.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Beam } from './Beam.tsx'
import css from './SignedOut.module.css'

const does = [
  [
    'Find',
    'Servers that boot an image prepared here announce themselves and are listed seconds later, with their processors, memory, disks and links; others are found by address.',
  ],
  [
    'Build',
    'Pick servers, review every line of their configuration, and watch a Kubernetes cluster come up step by step.',
  ],
  [
    'Tune',
    'Patch the configuration of a single server, and see which layer each line of the merged configuration comes from.',
  ],
  [
    'Hold',
    'See the capacity of every datacenter, the use of every address, which servers answer, and what each operation waits for.',
  ],
] as const

/** Home for visitors: introduction, sign-in and waitlist. */
export function SignedOut() {
  useEffect(() => {
    document.title = 'Steelyard'
  }, [])
  return (
    <div className={css['page']}>
      <Beam title="h1">
        <div className={css['actions']}>
          <ActionButton label="Sign in" kind="primary" size="large" to={paths.signIn} />
          <JoinButton size="large" />
        </div>
      </Beam>
      <dl className={css['does']}>
        {does.map(([what, how]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{how}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
