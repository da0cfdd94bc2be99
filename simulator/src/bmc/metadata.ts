import type { Json } from './refusal.ts'
import type { Tree } from './tree.ts'

const SCHEMAS = 'http://redfish.dmtf.org/schemas/v1'

/** The namespace of a type: `Chassis.v1_28_0` of `#Chassis.v1_28_0.Chassis`. */
const namespaceOf = (document: Json): string | null => {
  const type = document['@odata.type']
  return typeof type === 'string' ? type.replace(/^#/, '').replace(/\.\w+$/, '') : null
}

/** Where the schema of a document is published, for the header Link. */
export const schemaUrl = (document: Json): string | null => {
  const namespace = namespaceOf(document)
  return namespace === null ? null : `${SCHEMAS}/${namespace}.json`
}

/** The OData metadata document: which schemas the service uses (DSP0266, "OData $metadata"). */
export const metadata = (tree: Tree): string => {
  const names = new Set<string>()
  for (const { read } of tree.values()) {
    const namespace = read && namespaceOf(read())
    if (namespace) names.add(namespace)
  }
  const references = [...names].toSorted().map((name) => {
    const [base] = name.split('.')
    const included = [...new Set([base, name])]
      .map((one) => `    <edmx:Include Namespace="${one}"/>\n`)
      .join('')
    return `  <edmx:Reference Uri="${SCHEMAS}/${base}_v1.xml">\n${included}  </edmx:Reference>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
${references.join('')}  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
      <EntityContainer Name="Service" Extends="ServiceRoot.v1_21_0.ServiceContainer"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
`
}
