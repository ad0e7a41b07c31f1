//! A small dense matrix, row by row.

use super::Refusal;

/// A matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// `rows * columns` of them.
    pub entries: Vec<f64>,
}

impl Matrix {
    /// All zero.
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, columns, entries: vec![0.0; rows * columns] }
    }

    /// From rows that are all equally long.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self, Refusal> {
        let columns = rows.first().map_or(0, Vec::len);
        rows.iter().try_for_each(|row| super::same(columns, row.len()))?;
        Ok(Self { rows: rows.len(), columns, entries: rows.concat() })
    }

    /// One entry.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.columns + column]
    }

    /// This, times another.
    pub fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zero(self.rows, other.columns);
        for row in 0..self.rows {
            for column in 0..other.columns {
                let terms = (0..self.columns).map(|inner| self.at(row, inner) * other.at(inner, column));
                product.entries[row * other.columns + column] = terms.sum();
            }
        }
        product
    }

    /// Rows as columns.
    pub fn turned(&self) -> Matrix {
        let mut turned = Matrix::zero(self.columns, self.rows);
        for row in 0..self.rows {
            for column in 0..self.columns {
                turned.entries[column * self.rows + row] = self.at(row, column);
            }
        }
        turned
    }

    /// Entry by entry.
    pub fn with(&self, other: &Matrix, join: impl Fn(f64, f64) -> f64) -> Matrix {
        let entries = self.entries.iter().zip(&other.entries).map(|(one, two)| join(*one, *two)).collect();
        Matrix { entries, ..*self }
    }

    /// The mean of matrices of one shape, added up in order; of none, `None`.
    pub fn mean(all: &[Matrix]) -> Option<Matrix> {
        let (first, rest) = all.split_first()?;
        let mut sum = rest.iter().fold(first.clone(), |sum, next| sum.with(next, |one, two| one + two));
        sum.entries.iter_mut().for_each(|entry| *entry /= all.len() as f64);
        Some(sum)
    }

    /// Makes the columns orthonormal, one after the other (Gram and Schmidt): what a QR decomposition with a positive
    /// diagonal gives. Each is freed of the earlier ones twice, for once leaves a rest where columns are nearly
    /// alike. A column with nothing of its own becomes the first axis that is not yet taken, so that it can grow later.
    pub fn orthonormalise(&mut self) {
        for column in 0..self.columns {
            let before = self.column_length(column);
            self.free(column);
            let length = self.column_length(column);
            if length > before * 1e-12 && length > 0.0 {
                self.scale(column, 1.0 / length);
                continue;
            }
            for axis in 0..self.rows {
                (0..self.rows)
                    .for_each(|row| self.entries[row * self.columns + column] = f64::from(row == axis));
                self.free(column);
                let length = self.column_length(column);
                // Of all axes, one at least keeps this much.
                if length * length * 2.0 * self.rows as f64 >= (self.rows - column.min(self.rows)) as f64
                    && length > 0.0
                {
                    self.scale(column, 1.0 / length);
                    break;
                }
            }
        }
    }

    fn free(&mut self, column: usize) {
        for _ in 0..2 {
            for earlier in 0..column {
                let shared: f64 =
                    (0..self.rows).map(|row| self.at(row, earlier) * self.at(row, column)).sum();
                for row in 0..self.rows {
                    self.entries[row * self.columns + column] -= shared * self.at(row, earlier);
                }
            }
        }
    }

    fn column_length(&self, column: usize) -> f64 {
        (0..self.rows).map(|row| self.at(row, column) * self.at(row, column)).sum::<f64>().sqrt()
    }

    fn scale(&mut self, column: usize, by: f64) {
        (0..self.rows).for_each(|row| self.entries[row * self.columns + column] *= by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_orthonormal_even_where_they_are_alike() {
        let rows = [vec![1.0, 1.0, 0.0], vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 0.0], vec![2.0, 2.0, 0.0]];
        let mut matrix = Matrix::from_rows(&rows).unwrap();
        matrix.orthonormalise();
        let product = matrix.turned().times(&matrix);
        for row in 0..3 {
            for column in 0..3 {
                let wanted = f64::from(row == column);
                assert!((product.at(row, column) - wanted).abs() < 1e-12, "{product:?}");
            }
        }
        assert!(Matrix::from_rows(&[vec![1.0], vec![]]).is_err());
    }
}
