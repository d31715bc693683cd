#!/bin/bash
set -e
cd /app
cat > task.rs <<'END'
#[derive(Debug)]
pub struct Matrix {
    rows: Vec<Vec<f64>>,
}

impl Matrix {
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Matrix, String> {
        let n = rows.first().map_or(0, |r| r.len());
        if n == 0 || rows.iter().any(|r| r.len() != n) {
            return Err("rows differ".into());
        }
        Ok(Matrix { rows })
    }

    pub fn get(&self, r: usize, c: usize) -> f64 {
        self.rows[r][c]
    }

    pub fn transpose(&self) -> Matrix {
        let rows = (0..self.rows[0].len()).map(|c| self.rows.iter().map(|r| r[c]).collect()).collect();
        Matrix { rows }
    }

    pub fn mul(&self, o: &Matrix) -> Result<Matrix, String> {
        if self.rows[0].len() != o.rows.len() {
            return Err("sizes differ".into());
        }
        let t = o.transpose();
        let dot = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(x, y)| x * y).sum();
        let rows = self.rows.iter().map(|r| t.rows.iter().map(|c| dot(r, c)).collect()).collect();
        Ok(Matrix { rows })
    }
}
END
