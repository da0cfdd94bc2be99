/** Actions on templates. */
import { type Template, templateList, templateRemove } from '#contract/templates/templates.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { type Action, confirm } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'

export const templateActions = (template: Template): Action[] => [
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
