import { paths } from '../../lib/paths.ts'
import { JoinButton } from './JoinButton.tsx'
import { ButtonLink } from '../../ui/Button.tsx'
import { Beam } from './Beam.tsx'
import css from './SignedOut.module.css'

const does = [
  ['Find', 'Servers that boot Talos Linux announce themselves or are found by address. Steelyard reads their processors, memory, disks and links.'],
  ['Build', 'Pick servers, review every line of their configuration, and watch a Kubernetes cluster come up step by step.'],
  ['Address', 'Subnets, pools and the addresses in them, with what is free drawn as it is.'],
  ['Offer', 'What is left over is capacity in compute units, ready to be committed.'],
] as const

/** Home for visitors: what this is, signing in, the waitlist. */
export function SignedOut() {
  return (
    <div className={css['page']}>
      <Beam title="h1">
        <div className={css['actions']}>
          <ButtonLink kind="primary" size="large" href={paths.signIn}>
            Sign in
          </ButtonLink>
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
