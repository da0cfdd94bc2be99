import { useEffect, useState } from 'react'
import type { ProviderAnswer } from '#contract/people/sign-in.ts'
import type { PageProps } from '../../api/page.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { navigate } from '../../lib/router.ts'
import { samePlace } from '../../lib/search.ts'
import { Problem } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Beam } from './Beam.tsx'
import css from './SignIn.module.css'

/** The answer of the provider is used once, also if the page renders twice. */
let taken: { state: string; result: Promise<string | null> } | null = null

async function finish(answer: ProviderAnswer): Promise<string | null> {
  const { finishAtProvider } = await import('../../api/identity/provider.ts')
  return finishAtProvider(answer)
}

const known = ['state', 'code', 'iss', 'error', 'error_description'] as const

const noAnswer = 'This address is only for the way back from the identity provider.'

/**
 * Where the identity provider sends the browser back to: finishes the sign-in or the proof of
 * identity.
 */
export function ProviderReturn({ search }: PageProps<'/auth/callback'>) {
  const [problem, setProblem] = useState<string | null>(
    search.state === undefined && taken === null ? noAnswer : null,
  )
  useEffect(() => {
    document.title = 'Signing in · Steelyard'
    const answer = Object.fromEntries(
      known.flatMap((key) => (search[key] === undefined ? [] : [[key, search[key]]])),
    ) as Partial<ProviderAnswer>
    const { state } = answer
    if (state === undefined) return
    // The code must not stay in the history.
    history.replaceState(history.state, '', location.pathname)
    if (taken?.state !== state) taken = { state, result: finish({ ...answer, state }) }
    taken.result.then(
      (to) => void navigate(samePlace(to ?? paths.home, location.origin), { replace: true }),
      (error: unknown) => setProblem(reasonOf(error)),
    )
  }, [search])
  return (
    <div className={css['page']}>
      <Beam />
      <div className={css['form']}>
        <h1>{problem === null ? 'Signing in' : 'You are not signed in'}</h1>
        {problem === null ? (
          <p role="status">Steelyard checks the answer of the identity provider.</p>
        ) : (
          <Problem text={problem} />
        )}
        {problem !== null && (
          <ActionButton label="Back to sign in" kind="primary" size="large" to={paths.signIn} />
        )}
      </div>
    </div>
  )
}
