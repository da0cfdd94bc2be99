import { useMemo, useState } from 'react'
import type { Patch, Preview } from '#contract/patches.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DiffView } from '../../ui/text/DiffView.tsx'
import { Checkbox } from '../../ui/inputs/Choices.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { SkeletonRows } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { cx } from '../../ui/cx.ts'
import { diffLines } from '#contract/servers/diff.ts'
import { layerOf, weightText } from './patch-list.ts'
import css from './PatchEditor.module.css'
import type { PreviewState } from './use-editor.ts'
import { verdicts, warningTitle } from './verdicts.ts'

interface PreviewPanelProps {
  state: PreviewState
  /** The patch has no body yet. */
  blank: boolean
  /** The server is in a cluster. */
  isJoined: boolean
  layers: readonly Patch[]
  self: { name: string; weight: number }
  onGoTo: (line: number) => void
}

/**
 * The merged configuration without and with the patch, the layer of each line, and the effect of
 * saving.
 */
export function PreviewPanel({ state, blank, isJoined, layers, self, onGoTo }: PreviewPanelProps) {
  const { pending, error, retry } = state
  const preview = blank ? null : state.preview
  const [changedOnly, setChangedOnly] = useState(true)
  const { name, weight } = self
  const mine = `${name === '' ? 'this patch' : name} ${weightText(weight)}`
  const sources = useMemo(
    () =>
      (preview?.sources ?? []).map(({ line, layer }) => {
        const known = layerOf(layer, layers)
        const isSelf =
          layer === name || (known.weight === null && !layers.some((l) => l.name === layer))
        return {
          line,
          layer:
            isSelf && known.weight === null
              ? mine
              : known.weight === null
                ? layer
                : `${known.name} ${weightText(known.name === name ? weight : known.weight)}`,
        }
      }),
    [preview, layers, name, weight, mine],
  )
  const [added, removed] = useMemo(() => {
    const lines = preview === null ? [] : diffLines(preview.diff.before, preview.diff.after)
    return [
      lines.filter((l) => l.kind === 'add').length,
      lines.filter((l) => l.kind === 'remove').length,
    ]
  }, [preview])
  const broken = preview !== null && preview.errors.length > 0
  // Talos could merge it, but a value can't work.
  const isMerged = broken && preview.diff.after !== ''
  const said = preview === null ? null : verdicts[preview.verdict.kind]
  return (
    <Panel
      flush
      className={css['panel']}
      title="Merged configuration"
      note={
        preview !== null &&
        !broken && (
          <span className="nowrap hide-sm" title={`${added} lines added, ${removed} removed`}>
            <span className="c-ok">+{added}</span> <span className="c-danger">−{removed}</span>
          </span>
        )
      }
      actions={
        <Checkbox
          className="nowrap"
          label="Changed only"
          checked={changedOnly}
          onChange={setChangedOnly}
        />
      }
    >
      <div aria-live="polite" aria-busy={pending}>
        {!broken && preview !== null && preview.warnings.length > 0 && (
          <div className={cx(css['verdict'], css['warn'])}>
            <Icon name="alert" />
            <div className={css['problems']}>
              <b>{warningTitle(preview.warnings, isJoined)}</b>
              <Lines problems={preview.warnings} onGoTo={onGoTo} />
            </div>
          </div>
        )}
        {said !== null && !broken && preview !== null && (
          <div className={cx(css['verdict'], css[said.tone])}>
            <Icon name={said.icon} />
            <div>
              <b>{said.word}</b>{' '}
              {preview.verdict.reason !== said.word && <span>{preview.verdict.reason}</span>}
            </div>
          </div>
        )}
        {broken && (
          <div className={cx(css['verdict'], css['danger'])}>
            <Icon name="error" />
            <div className={css['problems']}>
              <b>{isMerged ? "This patch can't work" : "This patch can't be merged"}</b>
              <Lines problems={preview.errors} onGoTo={onGoTo} />
            </div>
          </div>
        )}
        {error !== null && (
          <div className={cx(css['verdict'], css['warn'])} role="alert">
            <Icon name="alert" />
            <div className="grow">
              <b>No preview</b> <span>{error.message}</span>
            </div>
            <ActionButton label="Try again" size="small" run={retry} />
          </div>
        )}
      </div>
      <div className={css['diff']}>
        {blank ? (
          <p className={css['nothing']}>
            The resulting configuration appears here after you write a patch.
          </p>
        ) : broken && !isMerged ? (
          <p className={css['nothing']}>Nothing to compare until the patch can be merged.</p>
        ) : preview === null ? (
          error === null && <SkeletonRows rows={6} widths={[60, 180]} />
        ) : (
          <DiffView
            label="Merged configuration before and after"
            before={preview.diff.before}
            after={preview.diff.after}
            sources={sources}
            emphasize={mine}
            whole={!changedOnly}
            empty="No difference in the merged configuration."
          />
        )}
      </div>
      <footer className={css['foot']}>
        {pending && preview !== null ? (
          <StatusDot quiet tone="busy">
            Checking
          </StatusDot>
        ) : (
          <span className="t3">
            The column on the right names the layer that set each line, and its weight.
          </span>
        )}
      </footer>
    </Panel>
  )
}

/** Sentences about the body, each with a link to its line. */
function Lines({
  problems,
  onGoTo,
}: {
  problems: readonly (Preview['errors'][number] | Preview['warnings'][number])[]
  onGoTo: (line: number) => void
}) {
  return (
    <ul>
      {problems.map((problem, i) => (
        <li key={`${problem.line} ${problem.message} ${i}`}>
          {problem.line !== null && (
            <button type="button" className={css['goto']} onClick={() => onGoTo(problem.line ?? 1)}>
              Line {problem.line}
              {'column' in problem && problem.column !== null && `, column ${problem.column}`}
            </button>
          )}
          <span>
            {/* The field's path, unless the sentence contains the path already. */}
            {'path' in problem &&
              problem.path !== null &&
              problem.path !== '' &&
              !problem.message.includes(problem.path) && (
                <code className="mono">{problem.path}</code>
              )}{' '}
            {problem.message}
          </span>
        </li>
      ))}
    </ul>
  )
}
