import { useQuery } from '@tanstack/react-query'
import { documentsText } from '#contract/apply/write.ts'
import { definitionOf, type ListedTemplate } from '#contract/templates/templates.ts'
import { cliOf } from '../../../lib/shell.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Command } from '../../../ui/text/Copyable.tsx'
import { Snippet } from '../../../ui/text/Snippet.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { startAction } from './template-actions.ts'
import { templateQuery } from './template-queries.ts'
import css from './Templates.module.css'

/** A template as the file that the command line reads, and the command that makes clusters of it. */
export function TemplateDetail({ of }: { of: ListedTemplate }) {
  const answer = useQuery(templateQuery(of.id))
  const template = answer.data
  if (template === undefined) return <Pending of={answer} />
  const text = documentsText([{ kind: 'template', ...definitionOf(template) }])
  return (
    <div className={css['detail']}>
      <h2 className="sr">{template.name}</h2>
      <Snippet title={`YAML of ${template.name}`} text={text} />
      <section className="stack stack2">
        <h3 className="label">Create clusters from it</h3>
        <div className="row">
          <ActionButton {...startAction(template)} size="small" />
        </div>
        <Command
          command={cliOf(['cluster', 'create', 'NAME'], {
            template: template.name,
            datacenter: 'CODE',
          })}
          what="the command that creates a cluster"
        />
        <p className="fs13 t2">
          NAME is the name of the cluster, CODE the datacenter. The command shows which servers are
          chosen, why, and which disks are wiped, and asks before it creates anything. --also makes
          more clusters at once.
        </p>
      </section>
    </div>
  )
}
