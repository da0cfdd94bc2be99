import {
  type Image,
  imageFactoryGet,
  imageGet,
  imageList,
  imageRegister,
} from '#contract/images.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconLink } from '../../ui/inputs/Button.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { Snippet } from '../../ui/text/Snippet.tsx'
import { Alert, Badge, StatusDot } from '../../ui/feedback/Status.tsx'
import { useAct } from '../../ui/feedback/use-act.ts'
import { formatNames } from './image-form.ts'
import css from './PrepareImage.module.css'

export const simulatedSentence = 'Simulated image factory: these files boot no real machine'

/** An image's schematic, kernel arguments and links, each with a copy button. */
export function ImageResult({ image }: { image: Image }) {
  const chosenFirst = image.links.toSorted(
    (a, b) => Number(b.format === image.format) - Number(a.format === image.format),
  )
  return (
    <div className={css['parts']}>
      {image.factory.simulated && <Alert tone="warn">{simulatedSentence}.</Alert>}
      <Registered image={image} />
      {image.warnings.map((warning) => (
        <Alert key={warning} tone="warn">
          {warning}
        </Alert>
      ))}
      <section aria-label="Schematic id" className={css['id']}>
        <h3 className="label">Schematic id</h3>
        <Copyable value={image.schematic_id} what="schematic id" />
      </section>
      <section aria-label="Links">
        <h3 className="label">Links</h3>
        <ul className={css['links']}>
          {chosenFirst.map((link) => (
            <li key={link.format}>
              <Badge tone={link.format === image.format ? 'accent' : 'neutral'}>
                {formatNames[link.format]}
              </Badge>
              <Copyable value={link.url} what={`${formatNames[link.format]} link`} />
              <IconLink
                icon="external"
                label={`Open the ${formatNames[link.format]} link`}
                href={link.url}
                target="_blank"
                rel="noreferrer"
              />
            </li>
          ))}
        </ul>
      </section>
      <Snippet title="Kernel command line" text={image.kernel_command_line} wrap />
      {image.early !== null && (
        <>
          <p className="fs13 t2">
            {image.early.way === 'embedded'
              ? 'What the servers know before they join is in the image.'
              : `What the servers know before they join is on the kernel command line, because this image factory can't put it into the image. ${image.early.line_left} characters are left.`}
          </p>
          <Snippet title="Documents before they join" text={image.early.yaml} />
        </>
      )}
      {image.factory.simulated && (
        <Snippet
          title="Boot simulated servers"
          text={`npm run simulate -- --boot-with '${image.kernel_command_line.replaceAll("'", `'\\''`)}'`}
          wrap
        />
      )}
      <Snippet title="PXE script" text={image.pxe_script} />
      <Snippet title="Schematic" text={image.schematic} />
    </div>
  )
}

/** Whether the factory has confirmed the schematic; if not, why, and a retry. */
function Registered({ image }: { image: Image }) {
  const { busy, problem, act } = useAct()
  const { registered_at, reason } = image.factory
  if (registered_at !== null)
    return (
      <p className={css['state']}>
        <StatusDot
          tone="ok"
          why={<span title={exact(registered_at)}>{moment(registered_at)}</span>}
        >
          Confirmed by the image factory
        </StatusDot>
      </p>
    )
  const again = () =>
    act(() =>
      call(imageRegister, { params: { id: image.id } }).finally(() =>
        invalidate(imageGet, imageList, imageFactoryGet),
      ),
    )
  return (
    <Alert
      tone="danger"
      action={
        <ActionButton
          label="Try again"
          size="small"
          busy={busy}
          busyText="Loading"
          can={allowed(imageRegister)}
          run={() => again()}
        />
      }
    >
      <b>The image factory has not confirmed this schematic yet, so the links do not work.</b>{' '}
      {problem ?? reason ?? 'The image factory has not been contacted yet.'} Schematic and id are
      kept.
    </Alert>
  )
}
