import { type ReactNode, useMemo, useRef, useState } from 'react'
import { patchLimits } from '#contract/patches.ts'
import { all, no, yes } from '#contract/rule.ts'
import {
  isSharedPatchIdle,
  type SharedPatch,
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchPreview,
  type SharedPatchPreview,
  sharedPatchRollOut,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { counted } from '#contract/words.ts'
import { isStale } from '../../../api/asking/fresh-version.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { useDraft } from '../../../api/use-draft.ts'
import { useLeaveGuard } from '../../../layout/leave.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import { curlOf } from '../../../lib/shell.ts'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Problem, StatusDot } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { CodeEditor, type CodeEditorHandle } from '../../../ui/inputs/CodeEditor.tsx'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Notices } from '../Notices.tsx'
import { bodyBytes, textStays, withoutMasked } from '../patch-form.ts'
import { useSchemaHelp } from '../use-editor.ts'
import { PreviewGroups } from './PreviewGroups.tsx'
import css from './Shared.module.css'
import {
  problemsOf,
  readShared,
  saveCommand,
  sharedChanges,
  SharedDraft,
  toFormFields,
} from './shared-form.ts'
import { refreshSharedPatches } from './shared-queries.ts'
import { TargetFields } from './TargetFields.tsx'

const { Text } = fieldsFor<SharedDraft>()

/** What somebody else has saved meanwhile. */
interface Newest {
  newer: boolean
  /** Who saved the newest version. */
  by: string | null
  /** Looks for a newer version. */
  look: () => void
  takeNewest: () => Promise<void>
}

/** What a submit does: shows the difference, saves, or saves and asks for the roll-out. */
type Wanted = 'preview' | 'save' | 'roll-out'
type Answered = { preview: SharedPatchPreview } | { saved: SharedPatch; isWhole: boolean }

/** Creates a shared patch (`patch` null) or edits one: body, targets, and what they change. */
export default function EditShared({
  patch,
  initial,
  newest,
}: {
  patch: SharedPatch | null
  initial: SharedDraft
  newest?: Newest
}) {
  const editor = useRef<CodeEditorHandle>(null)
  const wanted = useRef<Wanted>('preview')
  const [doing, setDoing] = useState<Wanted>('preview')
  const overwrites = useRef(false)
  const [last, setLast] = useState<{ of: string; preview: SharedPatchPreview } | null>(null)
  // The fields of a stored form don't change while the page is open.
  const [saved] = useState(initial)
  const help = useSchemaHelp(null)
  const form = useForm<
    SharedDraft,
    Extract<ReturnType<typeof readShared>, { ok: true }>['body'],
    Answered
  >({
    initial: saved,
    read: readShared,
    send: async (body, key) => {
      if (wanted.current === 'preview') {
        const asked = { ...(patch !== null && { id: patch.id }), ...body }
        return { preview: await call(sharedPatchPreview, { body: asked }) }
      }
      if (patch === null)
        return { saved: await call(sharedPatchCreate, { body }, { key }), isWhole: true }
      const params = { id: patch.id }
      // Compared with the newest version, so that what only somebody else has changed is sent too.
      const stored = overwrites.current ? await call(sharedPatchGet, { params }) : patch
      const differs = sharedChanges(body, stored)
      const sent = overwrites.current ? withoutMasked(differs, patch) : differs
      return {
        saved: await call(sharedPatchUpdate, { params, body: sent }, { version: stored.version }),
        isWhole: sent.body === differs.body,
      }
    },
    done: async (answer, body) => {
      if ('preview' in answer) {
        setLast({ of: JSON.stringify(body), preview: answer.preview })
        return
      }
      mayLeave(true)
      await kept.settle()
      await refreshSharedPatches()
      toast.success(
        `${body.name} was saved. ${answer.isWhole ? 'Nothing was sent' : `Nothing was sent. ${textStays}`}`,
      )
      await navigate(
        paths.sharedPatch(answer.saved.id, wanted.current === 'roll-out' ? 'roll-out' : undefined),
      )
    },
    failed: () => newest?.look(),
    invalid: (fields) =>
      Object.keys(fields).every((field) => field === 'body') && editor.current?.focus(),
    at: toFormFields,
  })
  const { values: draft, set, dirty, busy, read } = form
  const kept = useDraft(
    form,
    `shared-patch/${patch?.id ?? 'new'}`,
    SharedDraft,
    patch?.version ?? null,
  )
  const mayLeave = useLeaveGuard(dirty, 'patch')
  const submit = (what: Wanted) => {
    wanted.current = what
    setDoing(what)
    return form.submit().finally(() => {
      wanted.current = 'preview'
      setDoing('preview')
    })
  }
  const shown =
    last !== null && read.ok && JSON.stringify(read.body) === last.of ? last.preview : null
  const bodyProblem = form.errorOf('body')
  const problems = useMemo(() => problemsOf(bodyProblem), [bodyProblem])
  const may =
    patch === null
      ? allowed(sharedPatchCreate)
      : all(allowed(sharedPatchUpdate), isSharedPatchIdle(patch))
  const isChanged = patch === null || dirty ? yes : no('Nothing was changed')
  const operation = patch === null ? sharedPatchCreate : sharedPatchUpdate
  const kib = (Math.ceil(bodyBytes(draft.body) / 102.4) / 10).toFixed(1)
  return (
    <>
      <h1 className="sr">
        {patch === null ? 'Create a shared patch' : `Edit shared patch ${patch.name}`}
      </h1>
      <Form form={form} className={css['form']} focusFirst={patch === null}>
        <div className={css['top']}>
          <Text name="name" label="Name" autoCapitalize="none" />
          <Text
            name="weight"
            label="Weight"
            note={`${patchLimits.weight.min} to ${patchLimits.weight.max}`}
            inputMode="numeric"
            className="num"
          />
          <div className={css['buttons']}>
            <ActionButton
              label="Discard"
              kind="ghost"
              can={dirty ? undefined : no('Nothing was changed')}
              run={kept.discard}
            />
            <AsCommand
              complete={read.ok}
              cli={saveCommand(draft)}
              api={curlOf(
                operation,
                { id: patch?.id ?? '' },
                read.ok ? (patch === null ? read.body : sharedChanges(read.body, patch)) : {},
                { version: patch?.version },
              )}
            />
            <Button
              type="submit"
              kind={shown === null ? 'primary' : 'plain'}
              busy={busy && doing === 'preview'}
              busyText="Checking"
              can={allowed(sharedPatchPreview)}
            >
              Preview
            </Button>
            <Button
              busy={busy && doing === 'save'}
              busyText="Saving"
              can={all(may, isChanged)}
              onClick={() => void submit('save')}
            >
              Save
            </Button>
            <Button
              kind={shown === null ? 'plain' : 'primary'}
              busy={busy && doing === 'roll-out'}
              busyText="Saving"
              can={all(
                may,
                allowed(sharedPatchRollOut),
                shown === null ? no('Look at the preview first') : yes,
              )}
              onClick={() => void submit('roll-out')}
            >
              Save and roll out
            </Button>
          </div>
        </div>
        <TargetFields form={form} />
      </Form>
      <Notices
        notSaved={form.problem === null ? '' : 'That was refused.'}
        by={newest?.by ?? null}
        restored={kept.restored}
        newer={!busy && (newest?.newer ?? false)}
        failure={form.problem === null && !isStale(form.failure) ? null : form.failure}
        onDiscard={kept.discard}
        onNewest={() => {
          kept.discard()
          void newest?.takeNewest()
        }}
        onOverwrite={() => {
          overwrites.current = true
          void submit('save').finally(() => {
            overwrites.current = false
          })
        }}
      />
      <div className={css['split']}>
        <Panel flush className={css['panel']} title="Patch" note="Strategic merge, YAML">
          <div className={css['grows']}>
            <CodeEditor
              ref={editor}
              label="Patch body, YAML"
              value={draft.body}
              onValue={(body) => set({ body })}
              problems={problems}
              {...help.editor}
            />
          </div>
          <Problem text={bodyProblem} />
          <footer className={css['foot']}>
            <span className="t3">
              Variables:{' '}
              <code className="mono">{'{{name}} {{address}} {{link}} {{label.KEY}}'}</code>
            </span>
            <span className="t3 num right">
              {kib} of {patchLimits.bodyBytes / 1024} KiB
            </span>
          </footer>
        </Panel>
        <Panel
          flush
          className={css['panel']}
          title="What changes"
          note={shown !== null && counted(shown.servers, 'server')}
        >
          <div className={css['result']} aria-live="polite" aria-busy={busy}>
            <Result shown={shown} busy={busy && doing === 'preview'} isOld={last !== null} />
          </div>
        </Panel>
      </div>
    </>
  )
}

function Result({
  shown,
  busy,
  isOld,
}: {
  shown: SharedPatchPreview | null
  busy: boolean
  isOld: boolean
}): ReactNode {
  if (busy)
    return (
      <>
        <p className={css['none']}>
          <StatusDot quiet tone="busy">
            Every server makes a dry run
          </StatusDot>
        </p>
        <SkeletonRows rows={4} widths={[60, 180]} />
      </>
    )
  if (shown !== null) return <PreviewGroups preview={shown} />
  return (
    <p className={css['none']}>
      {isOld
        ? 'The form has changed since the preview. Preview again.'
        : 'The preview shows what changes on which servers, grouped by likeness, and which server would refuse it. Nothing is saved or sent by it.'}
    </p>
  )
}
