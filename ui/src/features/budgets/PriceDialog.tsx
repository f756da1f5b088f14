import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePatchPrices } from '@/api/budgets'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Field } from '@/components/Field'
import { ErrorNote } from '@/components/State'
import { parseCount, parseUSD } from '@/domain/money'
import { keyText, type Price, priceFields, withFigure } from '@/domain/price'
import { useToasts } from '@/store/toasts'
import { PriceKeyFields, type Where } from './PriceKeyFields'

type Props = {
  price: Price
  isNew: boolean
  /** Keys of the rows there are. */
  known: ReadonlySet<string>
  onClose(): void
}

/** One row of the table. Its key stays: another key is another row. */
export function PriceDialog({ price, isNew, known, onClose }: Props) {
  const { t } = useTranslation()
  const [form, setForm] = useState(price)
  const [where, setWhere] = useState<Where>({ kind: 'kind', name: 'anthropic' })
  const [upTo, setUpTo] = useState('')
  const [tried, setTried] = useState(false)
  const patch = usePatchPrices()
  const toast = useToasts((state) => state.show)
  const steps = upTo.trim() === '' ? 0 : parseCount(upTo)
  const missing = isNew && form.model.trim() === ''
  const wrong = priceFields.filter(
    (one) =>
      (form[one] !== '' || one === 'input' || one === 'output') && parseUSD(form[one]) === null,
  )
  const row: Price = isNew
    ? {
        ...form,
        model: form.model.trim(),
        upTo: steps ?? 0,
        kind: where.kind === 'kind' ? where.name : '',
        upstream: where.kind === 'provider' ? where.name : '',
      }
    : form
  const save = () => {
    setTried(true)
    if (missing || wrong.length > 0 || steps === null) return
    patch.mutate(
      { set: [row] },
      {
        onSuccess: () => {
          toast(t('price.saved', { model: row.model }))
          onClose()
        },
      },
    )
  }
  const remove = () =>
    patch.mutate(
      { remove: [price] },
      {
        onSuccess: () => {
          toast(t('price.removed', { model: price.model }))
          onClose()
        },
      },
    )
  return (
    <Dialog
      title={isNew ? t('price.add') : t('price.edit', { model: price.model })}
      onClose={onClose}
    >
      <form
        noValidate
        className="flex min-h-0 flex-col"
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <div className="flex flex-col gap-3 overflow-y-auto p-4">
          {isNew ? (
            <PriceKeyFields
              where={where}
              onWhere={setWhere}
              model={form.model}
              onModel={(model) => setForm({ ...form, model })}
              upTo={upTo}
              onUpTo={setUpTo}
              wrong={{ model: tried && missing, upTo: tried && steps === null }}
            />
          ) : null}
          {isNew && known.has(keyText(row)) ? (
            <p role="status" className="text-amber">
              {t('price.replaces')}
            </p>
          ) : null}
          <p className="text-t3">{t('price.unit')}</p>
          <div className="grid grid-cols-3 gap-3">
            {priceFields.map((one) => (
              <Field
                key={one}
                label={t(`price.field.${one}`)}
                error={tried && wrong.includes(one) ? t('budget.wrongUsd') : undefined}
              >
                {(wire) => (
                  <input
                    {...wire}
                    inputMode="decimal"
                    autoComplete="off"
                    placeholder={t(`price.default.${one}`)}
                    value={form[one]}
                    onChange={(event) => setForm(withFigure(form, price, one, event.target.value))}
                  />
                )}
              </Field>
            ))}
          </div>
          <div className="grid grid-cols-[1fr_10rem] gap-3">
            <Field label={t('price.source')} help={t('price.sourceHelp')}>
              {(wire) => (
                <input
                  {...wire}
                  type="url"
                  autoComplete="off"
                  spellCheck={false}
                  placeholder="https://"
                  value={form.source}
                  onChange={(event) => setForm({ ...form, source: event.target.value.trim() })}
                />
              )}
            </Field>
            <Field label={t('price.readOn')}>
              {(wire) => (
                <input
                  {...wire}
                  type="date"
                  value={form.read}
                  onChange={(event) => setForm({ ...form, read: event.target.value })}
                />
              )}
            </Field>
          </div>
          {form.note === '' ? null : <p className="text-sm break-words text-t3">{form.note}</p>}
          {patch.error === null ? null : <ErrorNote error={patch.error} />}
        </div>
        <div className="flex gap-2 border-t border-line px-4 py-3">
          {isNew ? null : (
            <Button changes disabled={patch.isPending} onClick={remove}>
              {t('price.remove')}
            </Button>
          )}
          <span className="flex-1" />
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button type="submit" look="solid" changes disabled={patch.isPending}>
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
