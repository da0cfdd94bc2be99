/** Actions on templates. */
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { type ListedTemplate, templateList, templateRemove } from '#contract/templates/templates.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { type Action, confirm } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'

/** Opens the form of a new cluster, filled from the template. */
export const startAction = ({ id }: Pick<ListedTemplate, 'id'>): Action => ({
  label: 'Use this template',
  icon: 'add',
  can: allowed(clusterCreate),
  to: paths.createCluster({ template: id }),
})

export const templateActions = (
  template: Pick<ListedTemplate, 'id' | 'name' | 'version'>,
): Action[] => [
  startAction(template),
  {
    label: 'Delete',
    icon: 'trash',
    danger: true,
    can: allowed(templateRemove),
    run: () =>
      confirm({
        title: `Delete the template ${template.name}?`,
        label: 'Delete',
        text: 'Clusters that were made from it stay as they are. The template is deleted for good.',
        danger: true,
        act: async () => {
          const asked = { params: { id: template.id } }
          await call(templateRemove, asked, { version: template.version })
          await invalidate(templateList)
          toast.success(`${template.name} was deleted`)
        },
      }),
  },
]
