import { type ReactNode, useEffect, useState } from 'react'
import { CallError } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { Problem } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Beam } from './Beam.tsx'
import css from './SignIn.module.css'

type State<Found> =
  | { at: 'looking' }
  /** The link is valid. */
  | { at: 'form'; found: Found }
  /**
   * `again`: Steelyard didn't respond, and the user can retry. Otherwise the link is invalid or
   * expired.
   */
  | { at: 'problem'; text: string; again: boolean }
  | { at: 'done' }

export interface LinkForm<Found> {
  token: string
  found: Found
  /** Called after a success. */
  onDone: () => void
  /** Called if the link is over. */
  onOver: (text: string) => void
}

/**
 * Reads the token of a link from the URL's fragment, and removes it from the URL, so that it is
 * neither on the screen nor in the history. Each page that is reached by a link has a reader of its
 * own, which remembers the last token.
 */
export function linkToken(): () => string {
  let taken = ''
  return () => {
    const token = location.hash.slice(1)
    if (token !== '') {
      taken = token
      history.replaceState(history.state, '', location.pathname)
    }
    return taken
  }
}

interface LinkPageProps<Found> {
  /** Heading while there is no form; `done`: after the form was sent. */
  heading: string
  done: string
  /** Defined once per page, outside of the component, like `look`. */
  takeToken: () => string
  /** Asks the server what the token is for. */
  look: (token: string) => Promise<Found>
  children: (form: LinkForm<Found>) => ReactNode
}

/**
 * A page that is reached by a link with a token. The token is in the fragment, so that no server
 * logs it.
 */
export function LinkPage<Found>({
  heading,
  done,
  takeToken,
  look,
  children,
}: LinkPageProps<Found>) {
  // A new object for each opening of a link, because the same link may be opened again.
  const [opened, setOpened] = useState(() => ({ token: takeToken() }))
  const { token } = opened
  const [state, setState] = useState<State<Found>>(
    token === ''
      ? {
          at: 'problem',
          text: 'This link is incomplete. Open the whole link that was sent to you.',
          again: false,
        }
      : { at: 'looking' },
  )
  const lookAt = async (): Promise<void> => {
    try {
      setState({ at: 'form', found: await look(token) })
    } catch (problem) {
      const isOver = problem instanceof CallError && problem.status >= 400 && problem.status < 500
      setState({ at: 'problem', text: reasonOf(problem), again: !isOver })
    }
  }
  useEffect(() => {
    document.title = `${heading} · Steelyard`
  }, [heading])
  useEffect(() => {
    if (token !== '') void lookAt()
    // Asks once per opening. `look` is defined outside of the component.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [opened])
  // Read the token again if the user opens another link in the same tab.
  useEffect(() => {
    const again = () => {
      if (location.hash.length > 1) setState({ at: 'looking' })
      setOpened({ token: takeToken() })
    }
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [takeToken])
  return (
    <div className={css['page']}>
      <Beam />
      {state.at === 'form' ? (
        children({
          token,
          found: state.found,
          onDone: () => setState({ at: 'done' }),
          onOver: (text) => setState({ at: 'problem', text, again: false }),
        })
      ) : (
        <div className={css['form']}>
          <h1>{state.at === 'done' ? done : heading}</h1>
          {state.at === 'looking' && <p role="status">Checking the link</p>}
          {state.at === 'problem' && <Problem text={state.text} />}
          {state.at === 'problem' && state.again ? (
            <ActionButton label="Try again" size="large" run={lookAt} />
          ) : (
            state.at !== 'looking' && (
              <p>
                <a href={paths.signIn}>Sign in</a>
              </p>
            )
          )}
        </div>
      )}
    </div>
  )
}
