import { Button } from '../inputs/Button.tsx'
import { Command } from './Copyable.tsx'
import { Popover } from '../overlay/Popover.tsx'

/** Cuts a long command for display. The copy button copies the whole command. */
const short = (text: string): string => (text.length > 4_000 ? `${text.slice(0, 4_000)}…` : text)

/**
 * Shows a form's action as a CLI command and as an API call. Disabled until the form is `complete`.
 * Leave out `cli` if the CLI can't do the same.
 */
export function AsCommand({
  cli,
  api,
  complete = true,
}: {
  cli?: string
  api: string
  complete?: boolean
}) {
  if (!complete) {
    return (
      <Button icon="terminal" can={{ ok: false, reason: 'Fill in the form first' }}>
        Command
      </Button>
    )
  }
  return (
    <Popover
      label="As a command"
      align="end"
      width="min(36rem, 92vw)"
      trigger={<Button icon="terminal">Command</Button>}
    >
      <div className="stack stack2">
        {cli !== undefined && (
          <>
            <p className="fs13 t2">The same on the command line, after steelyard login:</p>
            <Command command={cli} shown={short(cli)} />
          </>
        )}
        <p className="fs13 t2">
          {cli === undefined ? 'The same' : 'And'} as a call of the API. An access token goes into
          STEELYARD_TOKEN:
        </p>
        <Command command={api} shown={short(api)} />
      </div>
    </Popover>
  )
}
