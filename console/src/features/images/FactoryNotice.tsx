import type * as z from 'zod/mini'
import type { ImageFactory } from '#contract/images.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import { simulatedSentence } from './ImageResult.tsx'

/** Says that the factory is simulated, or that it does not answer. */
export function FactoryNotice({ factory, onRetry }: { factory: z.output<typeof ImageFactory>; onRetry: () => void }) {
  return (
    <>
      {factory.simulated && (
        <Alert tone="warn">
          {simulatedSentence}. They are made by the simulator at <span className="mono">{factory.url}</span>.
        </Alert>
      )}
      {!factory.reachable && (
        <Alert tone="danger" action={<ActionButton label="Try again" size="small" run={onRetry} />}>
          <b>
            The image factory at <span className="mono">{factory.url}</span> does not answer.
          </b>{' '}
          {factory.reason ?? ''} You can go on: schematic and id are made here and kept, and the links work once the factory has confirmed them.
        </Alert>
      )}
    </>
  )
}
