/**
 * The libraries that the packages of the embedded PostgreSQL contain beside PostgreSQL. npm knows
 * nothing of them, and they are what a scanner of vulnerabilities looks for first.
 */

/** The packages whose libraries are listed here; another version needs another look. */
export const listedFor = '18.4.0-beta.17'

export interface Library {
  readonly name: string
  readonly version: string
  /** Vendor and product of the CPE. */
  readonly cpe: string
  /** The licence, as SPDX names it. */
  readonly licence: string
  /** Its file below `native/lib`. */
  readonly file: string
  /** A text in the file that only this version has. */
  readonly mark: string
}

type System = 'linux' | 'darwin'

export const libraries: Readonly<Record<System, readonly Library[]>> = {
  linux: [
    {
      name: 'openssl',
      version: '1.1.1',
      cpe: 'openssl:openssl',
      licence: 'OpenSSL',
      file: 'libcrypto.so.1.1',
      mark: 'OpenSSL 1.1.1  11 Sep 2018',
    },
    {
      name: 'icu',
      version: '60.2',
      cpe: 'icu-project:international_components_for_unicode',
      licence: 'Unicode-DFS-2016',
      file: 'libicuuc.so.60.2',
      mark: 'libicudata.so.60',
    },
    {
      name: 'libxml2',
      version: '2.9.4',
      cpe: 'xmlsoft:libxml2',
      licence: 'MIT',
      file: 'libxml2.so.2',
      mark: '20904',
    },
    {
      name: 'libxslt',
      version: '1.1.29',
      cpe: 'xmlsoft:libxslt',
      licence: 'MIT',
      file: 'libxslt.so.1',
      mark: '10129',
    },
    {
      name: 'zlib',
      version: '1.2.11',
      cpe: 'zlib:zlib',
      licence: 'Zlib',
      file: 'libz.so.1',
      mark: 'deflate 1.2.11',
    },
    {
      name: 'xz',
      version: '5.2.2',
      cpe: 'tukaani:xz',
      licence: '0BSD',
      file: 'liblzma.so.5',
      mark: '5.2.2',
    },
  ],
  darwin: [
    {
      name: 'openssl',
      version: '3.5.6',
      cpe: 'openssl:openssl',
      licence: 'Apache-2.0',
      file: 'libcrypto.3.dylib',
      mark: 'OpenSSL 3.5.6',
    },
    {
      name: 'icu',
      version: '77.1',
      cpe: 'icu-project:international_components_for_unicode',
      licence: 'Unicode-3.0',
      file: 'libicuuc.77.1.dylib',
      mark: 'libicudata.77',
    },
    {
      name: 'libxml2',
      version: '2.15.3',
      cpe: 'xmlsoft:libxml2',
      licence: 'MIT',
      file: 'libxml2.16.dylib',
      mark: '21503',
    },
    {
      name: 'zlib',
      version: '1.3.2',
      cpe: 'zlib:zlib',
      licence: 'Zlib',
      file: 'libz.1.3.2.dylib',
      mark: 'deflate 1.3.2',
    },
    {
      name: 'zstd',
      version: '1.5.7',
      cpe: 'facebook:zstandard',
      licence: 'BSD-3-Clause',
      file: 'libzstd.1.5.7.dylib',
      mark: '1.5.7',
    },
    {
      name: 'lz4',
      version: '1.10.0',
      cpe: 'lz4_project:lz4',
      licence: 'BSD-2-Clause',
      file: 'liblz4.1.10.0.dylib',
      mark: '1.10.0',
    },
  ],
}
