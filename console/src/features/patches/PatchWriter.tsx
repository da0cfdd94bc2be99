import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { patchLimits } from '#contract/patches.ts'
import { CodeEditor, type CodeEditorHandle } from '../../ui/inputs/CodeEditor.tsx'
import { Field } from '../../ui/inputs/Field.tsx'
import { Select } from '../../ui/inputs/Choices.tsx'
import { emptyDraft, weightOf } from './patch-form.ts'
import { patchesQuery } from './patch-queries.ts'
import css from './PatchWriter.module.css'
import { PreviewPanel } from './PreviewPanel.tsx'
import { usePreview, useSchemaHelp } from './use-editor.ts'

interface PatchWriterProps {
  /** Of the cluster that the servers will join. */
  talosVersion: string
  /** At least one server. */
  servers: readonly { id: string; name: string }[]
  name: string
  /** As typed. */
  weight: string
  body: string
  onBody: (body: string) => void
}

/** Editor of a patch body for several free servers, with completion and a preview per server. */
export default function PatchWriter({
  talosVersion,
  servers,
  name,
  weight,
  body,
  onBody,
}: PatchWriterProps) {
  const [chosen, setChosen] = useState(servers[0]!.id)
  const editor = useRef<CodeEditorHandle>(null)
  const help = useSchemaHelp(talosVersion === '' ? null : talosVersion)
  const { data: layers } = useQuery(patchesQuery(chosen))
  const blank = body.trim() === ''
  const preview = usePreview(chosen, null, { ...emptyDraft, name, weight, body }, !blank)
  const at = weightOf(weight)
  return (
    <div className={css['writer']}>
      <div className={css['editor']}>
        <CodeEditor
          ref={editor}
          label="Patch body, YAML"
          value={body}
          onValue={onBody}
          problems={preview.of === body ? (preview.preview?.errors ?? []) : []}
          {...help.editor}
        />
      </div>
      <div className={css['preview']}>
        {servers.length > 1 && (
          <Field label="Preview on">
            <Select
              value={chosen}
              options={servers.map((s) => ({ value: s.id, text: s.name }))}
              onValue={setChosen}
            />
          </Field>
        )}
        <PreviewPanel
          state={preview}
          blank={blank}
          isJoined={false}
          layers={layers?.items ?? []}
          self={{ name, weight: Number.isNaN(at) ? patchLimits.weight.default : at }}
          onGoTo={(line) => editor.current?.goTo(line)}
        />
      </div>
    </div>
  )
}
