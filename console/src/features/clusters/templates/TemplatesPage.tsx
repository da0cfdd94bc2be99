import { useQuery } from '@tanstack/react-query'
import { type ListedTemplate, templateList } from '#contract/templates/templates.ts'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { paths } from '../../../lib/paths.ts'
import { versionShown } from '../../../lib/text.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { DataTable, nameWidth } from '../../../ui/table/DataTable.tsx'
import { listColumns } from '../../../ui/table/list-columns.tsx'
import { templateActions } from './template-actions.ts'
import { TemplateDetail } from './TemplateDetail.tsx'
import { templatesQuery } from './template-queries.ts'

const shown = (version: string | undefined): string =>
  version === undefined ? 'Newest' : versionShown(version)

const columns = listColumns(templateList.list, {
  name: { fixed: true, card: 'name', width: { least: 140, most: nameWidth } },
  servers: { card: 'fact', width: 100 },
  talos_version: { width: 110, cell: (t) => shown(t.talos_version) },
  kubernetes_version: { width: 110, cell: (t) => shown(t.kubernetes_version) },
  updated_at: { from: 'md' },
})

const detailOf = (template: ListedTemplate) => <TemplateDetail of={template} />

/** The templates of clusters. */
export function TemplatesPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(templatesQuery(search))
  const state = useList(templateList.list, columns, { search, setSearch }, answer)
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name" options={{}}>
        {null}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(template) => template.id}
        rowName={(template) => template.name}
        actions={templateActions}
        detail={detailOf}
        empty={
          <Empty
            title="No templates yet"
            text="A template says what clusters of one kind have in common, and what their servers must have. Open a cluster and choose Save as template in its menu, or use steelyard template save."
            actions={<ActionButton label="Clusters" to={paths.clusters()} kind="primary" />}
          />
        }
      />
    </>
  )
}
